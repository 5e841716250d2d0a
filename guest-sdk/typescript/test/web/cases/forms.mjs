// FormData, and forms as bodies.
const entries = (form) =>
  [...form].map(([name, value]) => [name, typeof value === "string" ? value : [value.name, value.type, value.size]]);
const parse = (text, boundary = "B") =>
  new Response(text.replaceAll("\n", "\r\n"), {
    headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
  }).formData();

export default {
  "append and get": () => {
    const form = new FormData();
    form.append("a", "1");
    form.append("a", 2);
    form.append("b", null);
    return [form.get("a"), form.getAll("a"), form.get("b"), form.get("c"), form.has("a"), form.has("c"), entries(form)];
  },
  "set and delete": () => {
    const form = new FormData();
    for (const [name, value] of [
      ["a", "1"],
      ["b", "2"],
      ["a", "3"],
    ])
      form.append(name, value);
    form.set("a", "x");
    form.set("c", "y");
    form.delete("b");
    return entries(form);
  },
  "blobs become files": async () => {
    const form = new FormData();
    form.append("a", new Blob(["x"], { type: "a/b" }));
    form.append("b", new Blob(["y"]), "own.txt");
    form.append("c", new File(["z"], "f.txt"));
    form.append("d", new File(["z"], "f.txt", { type: "x/y", lastModified: 3 }), "g.txt");
    return [entries(form), form.get("a") instanceof File, await form.get("a").text()];
  },
  "a file stays the same": () => {
    const file = new File(["x"], "n");
    const form = new FormData();
    form.append("a", file);
    return form.get("a") === file;
  },
  "a file name wants a blob": () => new FormData().append("a", "b", "c"),
  "append wants two arguments": () => new FormData().append("a"),
  "a form of an element": () => new FormData({}),
  "lone surrogates": () => {
    const form = new FormData();
    form.append("\ud800", "\udc00");
    return entries(form);
  },
  "iterating a form": () => {
    const form = new FormData();
    form.append("b", "1");
    form.append("a", "2");
    const seen = [];
    form.forEach((value, name, all) => seen.push([name, value, all === form]));
    return [
      [...form.keys()],
      [...form.values()],
      [...form.entries()],
      seen,
      form[Symbol.iterator] === form.entries,
      Object.prototype.toString.call(form),
      Object.prototype.toString.call(form.keys()),
    ];
  },
  "a form as a body": async () => {
    const form = new FormData();
    form.append('a\n"b"', "line\nbreak\r\n\rend");
    form.append("ü", "€");
    const response = new Response(form);
    const boundary = response.headers.get("content-type").split("boundary=")[1];
    return (await response.text()).replaceAll(boundary, "BOUNDARY");
  },
  "a file as a body": async () => {
    const form = new FormData();
    form.append("f", new File(["a\nb"], 'q"\n.txt', { type: "text/x" }));
    form.append("g", new Blob([new Uint8Array([0, 255])]));
    const response = new Response(form);
    const boundary = response.headers.get("content-type").split("boundary=")[1];
    return [...new Uint8Array(await response.arrayBuffer())]
      .map((it) => String.fromCharCode(it))
      .join("")
      .replaceAll(boundary, "BOUNDARY");
  },
  "an empty form as a body": async () => entries(await new Response(new FormData()).formData()),
  "a form comes back": async () => {
    const form = new FormData();
    form.append("a", "1");
    form.append('ü"\r\n', "2\n3");
    form.append("f", new File([new Uint8Array([0, 13, 10, 255])], 'ü "x".bin', { type: "a/b" }));
    form.append("a", "4");
    const back = await new Response(form).formData();
    return [entries(back), [...new Uint8Array(await back.get("f").arrayBuffer())]];
  },
  "boundaries differ": () => {
    const type = () => new Response(new FormData()).headers.get("content-type");
    return type() === type();
  },
  "form text is parsed": async () =>
    entries(
      await new Response("a=1&b=%C3%BC+x&c", { headers: { "content-type": "application/x-www-form-urlencoded" } }).formData(),
    ),
  "multipart is parsed": async () =>
    entries(
      await parse(
        '--B\nContent-Disposition: form-data; name="a"\n\n1\n--B\nContent-Disposition: form-data; name="f"; filename="x.txt"\nContent-Type: text/x\n\nabc\n--B--\n',
      ),
    ),
  "multipart of quoted boundaries": async () =>
    entries(await parse('--b c\nContent-Disposition: form-data; name="a"\n\n1\n--b c--\n', '"b c"')),
  "multipart's headers are of any case": async () =>
    entries(await parse('--B\ncontent-disposition: form-data; name="a"\n\n1\n--B--\n')),
  "multipart with what looks like a boundary": async () =>
    entries(
      await parse('--B\nContent-Disposition: form-data; name="a"\n\n--B x -- B\n--B--\n').catch((error) => [[error.name, "x"]]),
    ),
  "multipart with an empty value": async () => entries(await parse('--B\nContent-Disposition: form-data; name="a"\n\n\n--B--\n')),
  "multipart without an end": () => parse('--B\nContent-Disposition: form-data; name="a"\n\n1\n'),
  "multipart without a name": () => parse("--B\nContent-Disposition: form-data\n\n1\n--B--\n"),
  "multipart that is none": () => parse("hello"),
  "multipart without a boundary": () => new Response("x", { headers: { "content-type": "multipart/form-data" } }).formData(),
  "a form of another type": () => new Response("x").formData(),
  "a form of JSON": () => Response.json({}).formData(),
};
