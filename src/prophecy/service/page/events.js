// Alarms of all series, newest first; a click shows one in its chart.

import { request } from "./api.js";
import { moment, number, odds } from "./format.js";

const SHOWN = 60;

export class Events {
  constructor(jump) {
    this.jump = jump;
    this.last = 0;
    this.element = document.getElementById("events");
  }

  async load() {
    const { last } = await request("/v1/alarms?limit=1");
    const { alarms } = await request(`/v1/alarms?limit=${SHOWN}&since=${Math.max(0, last - SHOWN)}`);
    this.element.replaceChildren();
    this.last = 0;
    this.add(alarms, false);
  }

  add(alarms, fresh = true) {
    for (const alarm of alarms) {
      if (alarm.number <= this.last) continue;
      this.last = alarm.number;
      this.element.prepend(this.item(alarm, fresh));
    }
    while (this.element.children.length > SHOWN) this.element.lastChild.remove();
    document.getElementById("no-events").hidden = this.element.children.length > 0;
    if (fresh && alarms.length) {
      const one = alarms.at(-1);
      document.getElementById("announce").textContent = `Alarm: ${one.key}, ${number(one.value)}`;
    }
  }

  item(alarm, fresh) {
    const item = document.createElement("li"), button = document.createElement("button");
    item.className = fresh ? "new" : "";
    button.type = "button";
    const line = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
    const what = document.createElement("span");
    what.append(line("em", number(alarm.value)), ` ${[alarm.kind, odds(alarm.score)].filter(Boolean).join(", ")}`);
    button.append(line("b", alarm.key), what, line("span", moment(alarm.time, true)));
    button.addEventListener("click", () => this.jump(alarm));
    item.append(button);
    return item;
  }
}
