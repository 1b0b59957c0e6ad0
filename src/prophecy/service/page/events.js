// Events of all series, newest first; a click shows one in its chart. One disturbance raises several events, at its
// beginning, while it lasts and at its end: those of one disturbance (`fault`) are one line.

import { request } from "./api.js";
import { moment, number, odds, reason } from "./format.js";

const SHOWN = 60;
const seconds = (time) => (typeof time === "number" ? time : Date.parse(time) / 1000);

export class Events {
  constructor(jump) {
    this.jump = jump;
    this.last = 0;
    this.groups = [];
    this.element = document.getElementById("events");
  }

  async load() {
    const { last } = await request("/v1/events?limit=1");
    const { events } = await request(`/v1/events?limit=${3 * SHOWN}&since=${Math.max(0, last - 3 * SHOWN)}`);
    this.element.replaceChildren();
    this.groups = [];
    this.last = 0;
    this.add(events, false);
  }

  add(events, fresh = true) {
    for (const event of events) {
      if (event.number <= this.last) continue;
      this.last = event.number;
      const group = this.groups.find((one) => one.fault === event.fault);
      if (group) this.join(group, event);
      else this.begin(event, fresh);
    }
    while (this.groups.length > SHOWN) this.groups.pop().item.remove();
    document.getElementById("no-events").hidden = this.groups.length > 0;
    if (fresh && events.length) {
      const one = events.at(-1);
      document.getElementById("announce").textContent = `Event: ${one.key}, value ${number(one.value)}`;
    }
  }

  begin(event, fresh) {
    const item = document.createElement("li");
    item.className = fresh ? "new" : "";
    const group = { key: event.key, fault: event.fault, events: [event], worst: event, item };
    item.append(this.button(group));
    this.groups.unshift(group);
    this.element.prepend(item);
  }

  join(group, event) {
    group.events.push(event);
    if ((event.score ?? 0) > (group.worst.score ?? 0)) group.worst = event;
    const focused = group.item.contains(document.activeElement);
    group.item.replaceChildren(this.button(group));
    if (focused) group.item.firstChild.focus();
  }

  button(group) {
    const button = document.createElement("button"), first = group.events[0], last = group.events.at(-1), worst = group.worst;
    button.type = "button";
    const line = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
    const what = document.createElement("span");
    const why = [reason(worst.kind), `score ${(worst.score ?? 0).toFixed(1)} (${odds(worst.score)})`];
    what.append("value ", line("em", number(worst.value)), `: ${why.filter(Boolean).join(", ")}`);
    const length = first.time === null ? `${last.place - first.place} values` : `${number(seconds(last.time) - seconds(first.time), 3)} s`;
    const many = group.events.length > 1 ? `${group.events.length} within ${length}` : "";
    button.append(line("b", group.key), what, line("span", [moment(first.time, true), many].filter(Boolean).join(", ")));
    button.addEventListener("click", () => this.jump(worst));
    return button;
  }
}
