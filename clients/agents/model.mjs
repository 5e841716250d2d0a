// Stands in for the model behind an agent, at the APIs of Anthropic (messages) and OpenAI (responses): asks for the tool
// calls that are its arguments, as JSON [[name, input], …], one after the other, and prints a line for each request: what the
// agent would have sent to the model.
//
//     node model.mjs '[["mcp__kitbag__text__count", {"text": "a b"}]]'
import { createServer } from "node:http";

const calls = JSON.parse(process.argv[2] ?? "[]");
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

/** The server-sent events of an answer. */
const stream = (events) => events.map((data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`).join("");

/** What an agent tells of its tools and of the last calls, and the answer of a model that wants the next call. */
function messages(request) {
    const blocks = request.messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
    const results = blocks.filter(({ type }) => type === "tool_result");
    const tools = (request.tools ?? []).map(({ name }) => name);
    print({ tools, results: results.map(({ content }) => content) });
    const call = tools.length > 0 ? calls[results.length] : undefined;
    const block = call
        ? { type: "tool_use", id: `call_${results.length}`, name: call[0], input: {} }
        : { type: "text", text: "" };
    const delta = call
        ? { type: "input_json_delta", partial_json: JSON.stringify(call[1]) }
        : { type: "text_delta", text: "Done." };
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: "message", type: "message", role: "assistant", model: request.model, content: [], usage };
    if (!request.stream) {
        const content = [call ? { ...block, input: call[1] } : { type: "text", text: "Done." }];
        return { ...message, content, stop_reason: call ? "tool_use" : "end_turn", stop_sequence: null };
    }
    return stream([
        { type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null } },
        { type: "content_block_start", index: 0, content_block: block },
        { type: "content_block_delta", index: 0, delta },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason: call ? "tool_use" : "end_turn", stop_sequence: null }, usage },
        { type: "message_stop" },
    ]);
}

function responses(request) {
    const results = request.input.filter(({ type }) => type === "function_call_output");
    // Tools of a server may be grouped under its name.
    const named = ({ type, name, tools }) => (type === "namespace" ? tools.map((tool) => `${name}.${tool.name}`) : [name ?? type]);
    print({ tools: (request.tools ?? []).flatMap(named), results: results.map(({ output }) => output) });
    const call = calls[results.length];
    const item = call
        ? { type: "function_call", id: `f${results.length}`, call_id: `call_${results.length}`, ...split(request, call[0]), arguments: JSON.stringify(call[1]) }
        : { type: "message", id: "m", role: "assistant", content: [{ type: "output_text", text: "Done." }] };
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    return stream([
        { type: "response.created", response: { id: "r" } },
        { type: "response.output_item.done", output_index: 0, item },
        { type: "response.completed", response: { id: "r", usage } },
    ]);
}

/** A tool's name as the request has it: alone, or in its group. */
function split(request, wanted) {
    for (const { type, name, tools } of request.tools ?? []) {
        const tool = type === "namespace" ? tools.find((tool) => `${name}.${tool.name}` === wanted) : undefined;
        if (tool) return { namespace: name, name: tool.name };
    }
    return { name: wanted };
}

async function answer(request, response) {
    const parts = [];
    for await (const part of request) parts.push(part);
    const path = new URL(request.url, "http://localhost").pathname;
    const handle = path.endsWith("/messages") ? messages : path.endsWith("/responses") ? responses : undefined;
    if (!handle || request.method !== "POST") {
        return response.writeHead(200, { "content-type": "application/json" }).end('{"input_tokens":1}');
    }
    const answered = handle(JSON.parse(Buffer.concat(parts).toString()));
    const isStream = typeof answered === "string";
    response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
    response.end(isStream ? answered : JSON.stringify(answered));
}

const server = createServer((request, response) => {
    answer(request, response).catch((error) => response.writeHead(500).end(String(error)));
});
server.listen(0, "127.0.0.1", () => print({ url: `http://127.0.0.1:${server.address().port}` }));
