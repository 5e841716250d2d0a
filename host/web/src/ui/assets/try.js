// Shows that a call runs, and lets its person cancel it: closing the request stops the tool.
const form = document.getElementById("call");
const running = document.getElementById("running");
const cancel = document.getElementById("cancel");

form.addEventListener("submit", (event) => {
  running.hidden = event.submitter?.name === "then";
});
cancel.addEventListener("click", () => {
  window.stop();
  running.hidden = true;
  form.querySelector("button").focus();
});
// A page that comes back from the history runs nothing.
window.addEventListener("pageshow", () => {
  running.hidden = true;
});
