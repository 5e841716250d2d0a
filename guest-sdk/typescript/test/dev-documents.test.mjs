// The knowledge base of `kitbag dev` stores documents as a server does.
import assert from "node:assert/strict";
import { test } from "node:test";

import { storeDocuments } from "../dist/dev/documents.js";

test("a document that comes again replaces the earlier one of its feed", () => {
  const feed = { key: "k", name: "Feed\nk" };
  const documents = [];
  storeDocuments(documents, [
    { title: "first", text: "a", url: "https://A.example/#top" },
    { title: "in a feed", text: "a", url: "https://a.example/", feed },
    { title: "a file", fileUrl: "https://a.example/f.pdf" },
    { title: "a text", text: "b" },
  ], "books");

  storeDocuments(documents, [
    { title: " last\none ", text: "b", url: "https://a.example" },
    { title: "the file", fileUrl: "https://a.example:443/f.pdf" },
    { title: "the text", text: "b" },
  ], "books");

  assert.deepEqual(documents, [
    { id: "dev-1", title: "last one", text: "b", source: "books", url: "https://a.example/" },
    { id: "dev-2", title: "in a feed", text: "a", source: "books", url: "https://a.example/", feed: "Feed k" },
    { id: "dev-3", title: "the file", text: "", source: "books" },
    { id: "dev-4", title: "the text", text: "b", source: "books" },
  ]);
});
