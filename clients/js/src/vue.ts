// The composable for Vue.

import { type MaybeRefOrGetter, onScopeDispose, readonly, type Ref, shallowRef, toValue, watch } from "vue";
import { type Options, type Status, subscribe, type Subscription } from "./index.js";

/**
 * Subscribes until the current scope ends, usually the component's, and returns the status. A change of the URL or of the
 * options, if they are a ref or a getter, makes a new subscription. `url` null subscribes to nothing.
 */
export function usePush(url: MaybeRefOrGetter<string | null>, options: MaybeRefOrGetter<Options> = {}): Readonly<Ref<Status>> {
  const status = shallowRef<Status>({ state: "connecting" });
  let subscription: Subscription | undefined;
  const stop = watch(
    [() => toValue(url), () => toValue(options)] as const,
    ([to, o]) => {
      subscription?.close();
      subscription = to === null ? undefined : subscribe(to, {
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
    subscription?.close();
  });
  return readonly(status) as Readonly<Ref<Status>>;
}
