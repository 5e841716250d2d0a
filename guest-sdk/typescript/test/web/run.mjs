// Runs cases, wherever this is: in Node.js, in the engine, or in a toolkit.

/** Milliseconds for one case. */
const PATIENCE = 10_000;

/**
 * Returns the outcome of each case of each set, by "set: case".
 *
 * A case is a function, or `{ expected, run }` where Node.js, of the oldest version that the SDK works with, lacks
 * the API or is wrong: `expected` is then the value. A value is what JSON makes of it; an exception becomes
 * `{ threw: name }`.
 */
export async function runCases(sets) {
  const outcomes = {};
  for (const [set, cases] of Object.entries(sets)) {
    for (const [name, it] of Object.entries(cases)) outcomes[`${set}: ${name}`] = await outcome(it.run ?? it);
  }
  return outcomes;
}

/** Returns what the cases are compared with: as above, and the `expected` where there are. */
export async function expectedOutcomes(sets) {
  const comparable = Object.entries(sets).map(([set, cases]) => {
    return [
      set,
      Object.fromEntries(Object.entries(cases).map(([name, it]) => [name, it.run === undefined ? it : () => it.expected])),
    ];
  });
  return runCases(Object.fromEntries(comparable));
}

async function outcome(run) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error("too late"), { name: "TooLate" })), PATIENCE);
  });
  try {
    const value = await Promise.race([run(), late]);
    const json = JSON.stringify(value);
    return json === undefined ? { undefined: true } : JSON.parse(json);
  } catch (error) {
    return { threw: error?.name ?? String(error) };
  } finally {
    clearTimeout(timer);
  }
}
