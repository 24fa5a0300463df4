// Web Locks for tests in Node: one exclusive lock a name, with queue, steal and signal as in the specification.

export class Locks {
  #held = new Map(); // name to { reject }
  #queues = new Map();

  request(name, options, callback) {
    return new Promise((resolve, reject) => {
      const one = { callback, resolve, reject };
      const queue = this.#queues.get(name) ?? [];
      this.#queues.set(name, queue);
      if (options.steal) {
        const held = this.#held.get(name);
        this.#held.delete(name);
        held?.reject(new DOMException("stolen", "AbortError"));
        queue.unshift(one);
      } else {
        queue.push(one);
        options.signal?.addEventListener("abort", () => {
          const at = queue.indexOf(one);
          if (at < 0) return;
          queue.splice(at, 1);
          reject(options.signal.reason);
        });
      }
      queueMicrotask(() => this.#grant(name));
    });
  }

  /** The tab of the one that has the lock crashes: the lock goes on. */
  crash(name) {
    this.#held.delete(name);
    this.#grant(name);
  }

  get names() {
    return [...this.#held.keys()];
  }

  #grant(name) {
    if (this.#held.has(name)) return;
    const one = this.#queues.get(name).shift();
    if (!one) return;
    this.#held.set(name, one);
    Promise.resolve(one.callback({ name })).then(one.resolve, one.reject).finally(() => {
      if (this.#held.get(name) !== one) return;
      this.#held.delete(name);
      this.#grant(name);
    });
  }
}
