// The live channel: goes on after an interruption from the number it had reached, so that no value is lost.

import { ask, token } from "./api.js";

export class Live {
  constructor(on) {
    this.on = on; // hello(fresh), values(columns), events(list), watching(request, cursor), missed(message), state(text)
    this.boot = null;
    this.cursor = null;
    this.keys = [];
    this.request = 0;
    this.wait = 500;
  }

  open() {
    const address = new URL("/v1/live", location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    if (this.boot) {
      address.searchParams.set("since", this.cursor);
      address.searchParams.set("boot", this.boot);
    }
    this.socket = new WebSocket(address);
    this.socket.onopen = () => {
      if (token()) this.socket.send(JSON.stringify({ token: token() }));
      this.send();
    };
    this.socket.onmessage = (event) => this.take(JSON.parse(event.data));
    this.socket.onclose = (event) => this.closed(event);
  }

  // Which series to be sent. The answer, `watching`, has the number from which on all of them are.
  watch(keys) {
    this.keys = keys;
    this.request += 1;
    this.send();
    return this.request;
  }

  send() {
    if (this.socket?.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify({ keys: this.keys, request: this.request }));
    }
  }

  take(message) {
    if (message.type === "hello") {
      const fresh = this.boot !== message.boot;
      this.boot = message.boot;
      this.cursor = message.cursor;
      this.wait = 500;
      this.on.state("live");
      this.on.hello(fresh);
    } else if (message.type === "values") {
      this.cursor = message.cursor;
      this.on.values(message.columns);
    } else if (message.type === "events") this.on.events(message.events);
    else if (message.type === "watching") this.on.watching(message.request, message.cursor);
    else if (message.type === "missed") this.on.missed(message);
  }

  async closed(event) {
    this.on.state("reconnecting");
    if (event.code === 4401) await ask(token() ? "That token was not accepted." : "");
    setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(10_000, this.wait * 1.7);
  }
}
