// Requests to the service, with the token where it asks for one.

const PLACE = "prophecy-token";
let asking = null;

export function token() {
  return sessionStorage.getItem(PLACE);
}

// A token handed over behind # never leaves the browser; it is taken out of the address at once.
export function tokenFromAddress() {
  const found = /^#token=(.+)$/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(PLACE, decodeURIComponent(found[1]));
    history.replaceState(null, "", location.pathname);
  }
}

export async function ask(why = "") {
  if (asking) return asking;
  const dialog = document.getElementById("ask"), input = document.getElementById("token");
  document.getElementById("ask-error").textContent = why;
  dialog.showModal();
  asking = new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      if (input.value) sessionStorage.setItem(PLACE, input.value.trim());
      input.value = "";
      asking = null;
      resolve();
    }, { once: true });
  });
  return asking;
}

export async function request(path, options = {}) {
  for (;;) {
    const headers = { ...options.headers };
    if (token()) headers.Authorization = `Bearer ${token()}`;
    const answer = await fetch(path, { ...options, headers, cache: "no-store", credentials: "omit", redirect: "error" });
    if (answer.status === 401) {
      await ask(token() ? "That token was not accepted." : "");
      continue;
    }
    if (answer.status === 204) return null;
    const content = await answer.json();
    if (!answer.ok) throw Object.assign(new Error(content.error), { status: answer.status, ...content });
    return content;
  }
}

export const address = (key) => `/v1/series/${encodeURIComponent(key)}`;
