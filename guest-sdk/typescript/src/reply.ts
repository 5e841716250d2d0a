// Replies to calls, as clients receive them.
import type { ToolContent } from "./types.js";

/** A successful result. */
export interface DispatchSuccess {
  ok: true;
  /** The text that the model reads. */
  text: string;
  /** The structured value that the handler returned. */
  structured?: unknown;
  /** The structured value that clients receive; present only if the tool declares `output`. */
  structuredContent?: unknown;
  /** Further content blocks. */
  content?: ToolContent[] | undefined;
}

/** The error envelope of a failed call. */
export interface DispatchFailure {
  ok: false;
  code: "TOOL_ERROR" | "INVALID_PARAMS";
  error: string;
  retryable: boolean;
}
