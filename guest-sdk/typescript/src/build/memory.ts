// Memory that a toolkit's start leaves allocated: each call starts with it.

/** Fraction of a call's memory that the start may use without a warning. */
const WARNING_FRACTION = 0.25;

/** Returns a warning if a call starts with much of its memory in use. Both sizes are in bytes. */
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
