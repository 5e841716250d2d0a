// The Streams Standard, from web-streams-polyfill.
import { ReadableStream } from "web-streams-polyfill";

export {
  ByteLengthQueuingStrategy,
  CountQueuingStrategy,
  ReadableByteStreamController,
  ReadableStream,
  ReadableStreamBYOBReader,
  ReadableStreamBYOBRequest,
  ReadableStreamDefaultController,
  ReadableStreamDefaultReader,
  TransformStream,
  TransformStreamDefaultController,
  WritableStream,
  WritableStreamDefaultController,
  WritableStreamDefaultWriter,
} from "web-streams-polyfill";

/**
 * Whether a stream was read from or cancelled (Streams Standard, section 9.1.3). There is no public member
 * for it.
 */
export function isDisturbed(stream: ReadableStream): boolean {
  return (stream as unknown as { _disturbed: boolean })._disturbed;
}
