// Shows the buttons that copy a text, and lets them.
for (const button of document.querySelectorAll("button[data-copy]")) {
  const label = button.textContent;
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = label), 2000);
  });
}
