// The composable for Vue.

import { type MaybeRefOrGetter, onScopeDispose, readonly, type Ref, shallowRef, toValue, watch } from "vue";
import { chain } from "./chain.js";
import type { Options, Status } from "./index.js";

/**
 * Subscribes until the current scope ends, usually the component's, and returns the status. A change of the URL or of the
 * options, if they are a ref or a getter, makes a new subscription. It continues where the one before was, unless the path of
 * the URL or `lastEventId` has changed. `url` null subscribes to nothing: the state is `closed`.
 */
export function usePush(url: MaybeRefOrGetter<string | null>, options: MaybeRefOrGetter<Options> = {}): Readonly<Ref<Status>> {
  const status = shallowRef<Status>({ state: "connecting" });
  const begin = chain();
  let end: (() => void) | undefined;
  const stop = watch(
    [() => toValue(url), () => toValue(options)] as const,
    ([to, o]) => {
      end?.();
      status.value = { state: to === null ? "closed" : "connecting" };
      end = to === null ? undefined : begin(to, {
        ...o,
        onStatus(s) {
          status.value = s;
          o.onStatus?.(s);
        },
      });
    },
    { immediate: true },
  );
  onScopeDispose(() => {
    stop();
    end?.();
  });
  return readonly(status) as Readonly<Ref<Status>>;
}
