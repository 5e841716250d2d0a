// Runs cases, in Node.js, in the engine, or in a toolkit.

/** Time limit of one case. */
const CASE_TIMEOUT_MS = 10_000;

/**
 * Returns the outcome of each case of each set, by "set: case".
 *
 * A case is a function. It is `{ expected, run }` where the oldest version of Node.js that the SDK supports
 * lacks the API or is wrong; `expected` is then the value. Values are converted to JSON and back; an
 * exception becomes `{ threw: name }`.
 */
export async function runCases(sets) {
  const outcomes = {};
  for (const [set, cases] of Object.entries(sets)) {
    for (const [name, it] of Object.entries(cases)) outcomes[`${set}: ${name}`] = await outcome(it.run ?? it);
  }
  return outcomes;
}

/**
 * Returns the outcomes to compare with: `expected` of the cases that have it, else the outcome in this
 * process.
 */
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
    timer = setTimeout(() => reject(Object.assign(new Error("too late"), { name: "TooLate" })), CASE_TIMEOUT_MS);
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
