// Shows each call as it ends, above those that the page came with.

const MAX_SHOWN = 500;
const PAUSE = 2_000;
// The server sends an empty line every 15 s.
const MAX_SILENCE = 45_000;

const list = document.querySelector("#log");
const bar = document.querySelector("#live");
const [status, button] = bar.children;
let after = list.dataset.after;
let note = "";
let isPaused = false;
let isLeft = false;
let isFollowing = false;
let run = 0;
let request;

class Ended extends Error {}

function say(words) {
  if (status.textContent !== words + note) status.textContent = words + note;
}

function element(name, values, ...children) {
  const it = Object.assign(document.createElement(name), values);
  it.append(...children);
  return it;
}

const text = (name, textContent, className = "") => element(name, { textContent, className });
const link = (href, textContent) => element("a", { href, textContent });

function show(call) {
  const summary = element(
    "summary",
    {},
    element("time", { dateTime: call.time, textContent: call.clock }),
    text("span", call.outcome, `tag ${call.tone}`),
    text("code", call.tool),
    text("span", call.duration, "muted"),
  );
  const user = element("span", { className: "muted" }, text("bdi", call.user), ": content is theirs");
  if (call.user) summary.append(user);
  const lines = call.lines.map((line) => element("pre", {}, text("b", line.label), line.text));
  const details = element("details", {}, summary, text("p", call.numbers, "meta"), ...lines);
  if (call.omitted) details.append(text("p", call.omitted, "meta"));
  const links = [link(call.page, "Link"), " · ", link(call.record, "Record")];
  details.append(element("p", { className: "meta" }, ...links));
  list.prepend(element("li", { id: `call-${call.id}` }, details));
  after = call.id;
  if (list.children.length > MAX_SHOWN) {
    list.lastElementChild.remove();
    note = ` Only ${MAX_SHOWN} calls are shown.`;
  }
}

async function read() {
  const controller = (request = new AbortController());
  let silence;
  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(() => controller.abort(), MAX_SILENCE);
  };
  heard();
  try {
    const url = new URL(list.dataset.live, location);
    url.searchParams.set("after", after);
    const answer = await fetch(url, { redirect: "manual", signal: controller.signal });
    if (answer.type === "opaqueredirect") throw new Ended("Signed out: reload the page.");
    if (answer.status === 404) throw new Ended("The toolkit is gone.");
    if (!answer.ok) throw new Error(answer.status);
    if (answer.headers.has("kitbag-left-out")) note = " Calls were left out: reload the page.";
    const body = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ; ) {
      say("Live.");
      const { done, value } = await body.read();
      if (done) return;
      heard();
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      lines.filter(Boolean).forEach((line) => show(JSON.parse(line)));
    }
  } finally {
    clearTimeout(silence);
  }
}

async function follow() {
  const mine = run;
  while (mine === run) {
    try {
      await read();
    } catch (error) {
      if (mine !== run) return;
      if (error instanceof Ended) return say(error.message);
      say("Reconnecting…");
    }
    await new Promise((resume) => setTimeout(resume, PAUSE));
  }
}

// A hidden page holds no connection: a browser opens six to a server.
function update() {
  const isWanted = !isPaused && !isLeft && !document.hidden;
  if (isWanted === isFollowing) return;
  isFollowing = isWanted;
  run += 1;
  request?.abort();
  if (isWanted) follow();
  else say("Paused.");
}

button.onclick = () => {
  isPaused = !isPaused;
  button.textContent = isPaused ? "Resume" : "Pause";
  update();
};
document.onvisibilitychange = update;
onpagehide = onpageshow = (event) => {
  isLeft = event.type === "pagehide";
  update();
};
bar.hidden = false;
update();
