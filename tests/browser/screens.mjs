// Takes pictures of every page, or of those that are named, in light, in dark, and 320 pixels wide:
// `node screens.mjs FOLDER [PAGE…]`. Those of README.md are in FOLDER/readme. Then prints how long the server takes for each
// page that is opened by its path alone.

import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { Server } from "./harness/server.mjs";
import { serverTimes } from "./harness/timing.mjs";
import { Visitor, launch } from "./harness/visitor.mjs";
import { PAGES, open, pathOf, visitors } from "./pages.mjs";

const [folder, ...names] = process.argv.slice(2);
if (!folder) {
  console.error("usage: node screens.mjs FOLDER [PAGE…]");
  process.exit(2);
}

const TOOLKITS = ["text", "weather", "notes", "clipper", "feeds", "github", "papers", "currency", "translate"];
const shown = PAGES.filter(({ name }) => names.length === 0 || names.includes(name));
const IDS = { toolkit: "weather", tool: "forecast", secret: "translate", called: "text" };

const WIDE = { viewport: { width: 1100, height: 800 } };
const LOOKS = {
  light: { ...WIDE, colorScheme: "light" },
  dark: { ...WIDE, colorScheme: "dark" },
  narrow: { viewport: { width: 320, height: 640 }, colorScheme: "light" },
};

/** What README.md shows: the upper part of two pages, in less than 100 kB each. */
const README = { pages: ["directory", "toolkit"], look: { viewport: { width: 1000, height: 762 }, colorScheme: "light" } };

await mkdir(join(folder, "readme"), { recursive: true });
const server = await Server.start(["--consent", "users"]);
let browser;
try {
  browser = await launch();
  await server.deploy(...TOOLKITS.map((name) => `toolkit-${name}`));
  if (names.length === 0) await picturesOfReadme();
  await server.deploy("guest-greeter-v1");
  await server.deployFurther();
  await callSome();
  await promisify(execFile)("python3", [join(import.meta.dirname, "past_calls.py"), join(server.data, "kitbag.sqlite")]);
  for (const [look, options] of Object.entries(LOOKS)) {
    await picture(shown, options, (name) => ({ path: join(folder, `${name}-${look}.png`), fullPage: true }));
  }
  await printServerTimes();
} finally {
  await Promise.all([browser?.close(), server.stop()]);
}

/** Before anything else is deployed: README.md shows the example toolkits alone. */
async function picturesOfReadme() {
  const shown = PAGES.filter(({ name }) => README.pages.includes(name));
  await picture(shown, README.look, (name) => ({ path: join(folder, "readme", `${name}.png`) }));
}

async function printServerTimes() {
  const all = await visitors(() => Visitor.open(browser, server), "local");
  console.log("time of the server in ms, median and slowest of a hundred:");
  for (const page of shown.filter(({ prepare }) => !prepare)) {
    const { median, slowest } = await serverTimes(all[page.who ?? "user"], pathOf(page, IDS));
    console.log(`  ${page.name.padEnd(20)} ${median.toFixed(1).padStart(6)} ${slowest.toFixed(1).padStart(6)}`);
  }
}

/** Calls that succeed, and one that fails, so that there is something to show of them; one stores a document. */
async function callSome() {
  for (const text of ["one two", "To be, or not to be, that is the question."]) await server.call("text__count", { text });
  await server.call("text__count", { text: 7 });
  await server.call("notes__add", { title: "Offsite", text: "The offsite is in Lisbon, from the 4th to the 6th of May." });
}

/** Takes a picture of each page, with a fresh profile; `pictureOf` says how, by the name of the page. */
async function picture(pages, options, pictureOf) {
  const all = await visitors(() => Visitor.open(browser, server, options), "local");
  for (const page of pages) {
    const visitor = all[page.who ?? "user"];
    await open(visitor, page, IDS);
    await visitor.page.screenshot(pictureOf(page.name));
  }
  await server.command("secret", "unset", IDS.secret, "DEEPL_API_KEY");
  await Promise.all(Object.values(all).map((visitor) => visitor.close()));
}
