/** Error of an unusable document or choice of operations. The message is for the author. */
export class DocumentError extends Error {
  override readonly name = "DocumentError";
}

/** Error of one operation that cannot become a tool. The message completes "cannot be made: …". */
export class CannotMake extends Error {
  override readonly name = "CannotMake";
}
