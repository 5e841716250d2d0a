// Timers, microtasks and clocks.
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export default {
  "a timer passes its arguments on": () => new Promise((resolve) => setTimeout((...args) => resolve(args), 1, "a", 2)),
  "timers are called in the order in which they are due": async () => {
    const order = [];
    setTimeout(() => order.push("late"), 20);
    setTimeout(() => order.push("soon"), 1);
    await wait(40);
    return order;
  },
  "timers of the same delay keep their order": async () => {
    const order = [];
    for (let i = 0; i < 5; i += 1) setTimeout(() => order.push(i), 5);
    await wait(20);
    return order;
  },
  "microtasks come before timers": async () => {
    const order = [];
    setTimeout(() => order.push("timer"), 0);
    queueMicrotask(() => order.push("microtask"));
    Promise.resolve().then(() => order.push("promise"));
    order.push("now");
    await wait(10);
    return order;
  },
  "a timer that is cleared is not called": async () => {
    const called = [];
    clearTimeout(setTimeout(() => called.push("cleared"), 1));
    clearInterval(setTimeout(() => called.push("cleared as an interval"), 1));
    await wait(10);
    return called;
  },
  "an interval goes on until it is cleared": async () => {
    let count = 0;
    await new Promise((resolve) => {
      const id = setInterval(() => {
        count += 1;
        if (count < 3) return;
        clearInterval(id);
        resolve();
      }, 2);
    });
    await wait(10);
    return count;
  },
  "clearTimeout ends an interval": async () => {
    let count = 0;
    const id = setInterval(() => (count += 1), 1);
    clearTimeout(id);
    await wait(8);
    return count;
  },
  "clearing nothing is allowed": () =>
    [clearTimeout(), clearTimeout(null), clearTimeout(undefined), clearInterval(123456789)].length,
  "a timer waits as long as it is told": async () => {
    const start = performance.now();
    await wait(20);
    return performance.now() - start >= 18;
  },
  "a delay of no number is none": async () => {
    const start = performance.now();
    await new Promise((resolve) => setTimeout(resolve, "x"));
    await new Promise((resolve) => setTimeout(resolve, -5));
    await new Promise((resolve) => setTimeout(resolve));
    return performance.now() - start < 1000;
  },
  "a callback must be a function": () => setTimeout("x", 1),
  "queueMicrotask wants a function": () => queueMicrotask(1),
  "performance.now does not go back": () => {
    const [a, b] = [performance.now(), performance.now()];
    return b >= a && a >= 0;
  },
  "performance.timeOrigin is a date": () => Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 1000,
};
