// The visible part of a timeline: wheel, drag, keys and buttons change it.

const leastView = 1000; // ns

export class Viewport {
  from = 0;
  to: number;

  constructor(
    private readonly element: HTMLElement,
    bar: HTMLElement,
    private readonly window: number,
    private readonly margin: { left: number; right: number },
    private readonly changed: () => void,
  ) {
    this.window = Math.max(window, leastView);
    this.to = this.window;
    for (const [text, name, act] of [
      ["+", "Zoom in", () => this.zoom(0.5, (this.from + this.to) / 2)],
      ["−", "Zoom out", () => this.zoom(2, (this.from + this.to) / 2)],
      ["All", "Show the whole window", () => this.show(0, this.window)],
    ] as [string, string, () => void][]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.setAttribute("aria-label", name);
      button.addEventListener("click", act);
      bar.append(button);
    }
    this.listen();
  }

  /** Returns the time under a pointer, or null beside the lanes. */
  at(clientX: number): number | null {
    const box = this.element.getBoundingClientRect();
    const inner = box.width - this.margin.left - this.margin.right;
    const share = (clientX - box.left - this.margin.left) / inner;
    return share < 0 || share > 1 ? null : this.from + share * (this.to - this.from);
  }

  show(from: number, to: number): void {
    const length = Math.min(Math.max(to - from, leastView), this.window);
    this.from = Math.min(Math.max(from, 0), this.window - length);
    this.to = this.from + length;
    this.changed();
  }

  private zoom(factor: number, around: number): void {
    this.show(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }

  private move(share: number): void {
    const by = (this.to - this.from) * share;
    this.show(this.from + by, this.to + by);
  }

  private listen(): void {
    this.element.addEventListener(
      "wheel",
      (e) => {
        const around = this.at(e.clientX);
        // At the widest, scrolling down goes on with the page.
        if (around === null || e.ctrlKey || (e.deltaY > 0 && this.to - this.from >= this.window)) return;
        e.preventDefault();
        this.zoom(e.deltaY > 0 ? 1.25 : 0.8, around);
      },
      { passive: false },
    );
    let last: number | null = null;
    this.element.addEventListener("pointerdown", (e) => {
      last = e.clientX;
      this.element.setPointerCapture(e.pointerId);
    });
    this.element.addEventListener("pointermove", (e) => {
      if (last === null) return;
      this.move((last - e.clientX) / Math.max(this.element.clientWidth, 1));
      last = e.clientX;
    });
    for (const end of ["pointerup", "pointercancel"]) this.element.addEventListener(end, () => (last = null));
    this.element.addEventListener("dblclick", () => this.show(0, this.window));
    this.element.addEventListener("keydown", (e) => {
      const act = {
        ArrowLeft: () => this.move(-0.2),
        ArrowRight: () => this.move(0.2),
        "+": () => this.zoom(0.5, (this.from + this.to) / 2),
        "=": () => this.zoom(0.5, (this.from + this.to) / 2),
        "-": () => this.zoom(2, (this.from + this.to) / 2),
        "0": () => this.show(0, this.window),
      }[e.key];
      if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
      e.preventDefault();
      act();
    });
  }
}
