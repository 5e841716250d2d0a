/** The document, or the choice of operations, cannot be used. The message is for the author. */
export class DocumentError extends Error {
  override readonly name = "DocumentError";
}

/** One operation cannot be made. The message is the reason, as in "cannot be made: …". */
export class CannotMake extends Error {
  override readonly name = "CannotMake";
}
