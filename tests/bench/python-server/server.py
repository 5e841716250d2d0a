# The same tool with FastMCP, in one process of Python, as it is usually run: `server.py PORT`. No sandbox,
# no sign-in.
import re
import sys
from typing import Annotated

from fastmcp import FastMCP
from fastmcp.tools import ToolResult
from pydantic import BaseModel, Field, NonNegativeInt

# Made for letters of European languages, as `count/counts.js` is.
WORD = re.compile(r"\w+(?:['’]\w+)*")
SENTENCE = re.compile(r"[^.!?\s][^.!?]*")
PARAGRAPH = re.compile(r"\S.*?(?:\n\s*\n|\Z)", re.DOTALL)


class Counts(BaseModel):
    words: NonNegativeInt
    characters: NonNegativeInt
    characters_without_spaces: NonNegativeInt
    bytes: NonNegativeInt
    lines: NonNegativeInt
    sentences: NonNegativeInt
    paragraphs: NonNegativeInt


server = FastMCP("count", version="1.0.0")


@server.tool(
    title="Count words",
    output_schema=Counts.model_json_schema(),
    annotations={"readOnlyHint": True, "idempotentHint": True},
)
async def count(text: Annotated[str, Field(description="The text to count.")]) -> ToolResult:
    """Counts the words, characters, lines, sentences and paragraphs of a text."""
    counts = Counts(
        words=len(WORD.findall(text)),
        characters=len(text),
        characters_without_spaces=sum(map(len, text.split())),
        bytes=len(text.encode()),
        lines=len(text.splitlines()),
        sentences=len(SENTENCE.findall(text)),
        paragraphs=len(PARAGRAPH.findall(text)),
    )
    summary = (
        f"words: {counts.words}, characters: {counts.characters} "
        f"({counts.characters_without_spaces} without spaces), lines: {counts.lines}, "
        f"sentences: {counts.sentences}, paragraphs: {counts.paragraphs}"
    )
    return ToolResult(content=summary, structured_content=counts.model_dump())


server.run(
    transport="http",
    host="127.0.0.1",
    port=int(sys.argv[1]),
    stateless_http=True,
    json_response=True,
    log_level="warning",
    show_banner=False,
)
