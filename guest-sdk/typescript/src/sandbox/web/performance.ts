// Performance (High Resolution Time, section 7), with the host's clock: the engine's own clock starts when
// the component is built.
import { monotonicNow } from "kitbag:host";

class Performance {
  #timeOrigin: number | undefined;

  now(): number {
    return monotonicNow();
  }

  get timeOrigin(): number {
    return (this.#timeOrigin ??= Date.now() - monotonicNow());
  }

  toJSON(): { timeOrigin: number } {
    return { timeOrigin: this.timeOrigin };
  }
}

export const performance = new Performance();
export { Performance };
