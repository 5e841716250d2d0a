// The knowledge base of a test stores documents as a server does.
import assert from "node:assert/strict";
import { test } from "node:test";

import { ingestInto, libraryOf } from "../dist/local/documents.js";

test("a document that comes again replaces the earlier one of its feed", () => {
  const feed = { key: "k", name: "Feed\nk" };
  const library = libraryOf([{ id: "own", title: "mine", text: "b", source: "user" }]);
  ingestInto(library, [
    { title: "first", text: "a", url: "https://A.example/#top" },
    { title: "in a feed", text: "a", url: "https://a.example/", feed },
    { title: "a file", fileUrl: "https://a.example/f.pdf" },
    { title: "a text", text: "b" },
  ], "books", []);

  ingestInto(library, [
    { title: " last\none ", text: "b", url: "https://a.example" },
    { title: "the file", fileUrl: "https://a.example:443/f.pdf" },
    { title: "the text", text: "b" },
  ], "books", []);

  assert.deepEqual(library.documents, [
    { id: "own", title: "mine", text: "b", source: "user" },
    { id: "ingested-2", title: "last one", text: "b", source: "books", url: "https://a.example/" },
    { id: "ingested-3", title: "in a feed", text: "a", source: "books", url: "https://a.example/", feed: "Feed k" },
    { id: "ingested-4", title: "the file", text: "", source: "books" },
    { id: "ingested-5", title: "the text", text: "b", source: "books" },
  ]);
});
