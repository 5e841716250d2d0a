// Shows how far an upload has come. Without this script, the browser sends the form itself.
const form = document.querySelector("form[data-upload]");
const bar = form.querySelector("progress");
const status = form.querySelector("[role=status]");
const button = form.querySelector("button");

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const request = new XMLHttpRequest();
  request.open("POST", form.action);
  request.responseType = "document";
  request.upload.addEventListener("progress", ({ loaded, total }) => {
    bar.max = total;
    bar.value = loaded;
    say(loaded < total ? `Uploading: ${Math.floor((100 * loaded) / total)} %` : "The server checks and compiles it…");
    if (loaded >= total) bar.removeAttribute("value");
  });
  request.addEventListener("load", () => {
    const page = request.response;
    if (request.status < 400 || !page?.body) return location.assign(request.responseURL);
    document.title = page.title;
    document.body.replaceWith(document.adoptNode(page.body));
    document.querySelector("[role=alert]")?.focus();
  });
  request.addEventListener("error", () => {
    say("The upload broke off. Send it again.");
    bar.hidden = true;
    button.disabled = false;
  });
  request.send(new FormData(form));
  bar.hidden = false;
  button.disabled = true;
  say("Uploading…");
});

function say(text) {
  if (status.textContent !== text) status.textContent = text;
}
