// What a toolkit's start leaves in memory: each call has it from its beginning.

/** Fraction of a call's memory that the start may take without a warning. */
const WARNING_FRACTION = 0.25;

/** Returns a warning if a call begins with much of its memory taken; both sizes are in bytes. */
export function memoryWarnings(memory: number, callMemory: number): string[] {
  if (memory <= callMemory * WARNING_FRACTION) return [];
  return [
    `each call begins with ${mebibytes(memory)} MiB of memory taken, of the ${mebibytes(callMemory)} MiB that a server allows by default, ` +
      "because of what the module's top level creates: create in handlers what is large",
  ];
}

/** Returns a size in MiB, with one decimal if it is not whole. */
export function mebibytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1).replace(/\.0$/, "");
}
