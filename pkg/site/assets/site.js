// Everything on the pages works without this. It spares a second press of a button while
// the first is on its way, and fills in a code that came behind the # of an address.
"use strict";
document.addEventListener("submit", (event) => {
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "yes";
});
window.addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});
for (const form of document.querySelectorAll("form[data-fragment]")) {
  const input = form.elements[form.dataset.fragment];
  const code = location.hash.slice(1);
  if (input && code && !input.value) input.value = code;
}
