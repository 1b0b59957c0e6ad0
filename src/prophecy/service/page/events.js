// Alarms of all series, newest first; a click shows one in its chart. One disturbance raises several alarms, at its
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
    const { last } = await request("/v1/alarms?limit=1");
    const { alarms } = await request(`/v1/alarms?limit=${3 * SHOWN}&since=${Math.max(0, last - 3 * SHOWN)}`);
    this.element.replaceChildren();
    this.groups = [];
    this.last = 0;
    this.add(alarms, false);
  }

  add(alarms, fresh = true) {
    for (const alarm of alarms) {
      if (alarm.number <= this.last) continue;
      this.last = alarm.number;
      const group = this.groups.find((one) => one.fault === alarm.fault);
      if (group) this.join(group, alarm);
      else this.begin(alarm, fresh);
    }
    while (this.groups.length > SHOWN) this.groups.pop().item.remove();
    document.getElementById("no-events").hidden = this.groups.length > 0;
    if (fresh && alarms.length) {
      const one = alarms.at(-1);
      document.getElementById("announce").textContent = `Alarm: ${one.key}, value ${number(one.value)}`;
    }
  }

  begin(alarm, fresh) {
    const item = document.createElement("li");
    item.className = fresh ? "new" : "";
    const group = { key: alarm.key, fault: alarm.fault, alarms: [alarm], worst: alarm, item };
    item.append(this.button(group));
    this.groups.unshift(group);
    this.element.prepend(item);
  }

  join(group, alarm) {
    group.alarms.push(alarm);
    if ((alarm.score ?? 0) > (group.worst.score ?? 0)) group.worst = alarm;
    const focused = group.item.contains(document.activeElement);
    group.item.replaceChildren(this.button(group));
    if (focused) group.item.firstChild.focus();
  }

  button(group) {
    const button = document.createElement("button"), first = group.alarms[0], last = group.alarms.at(-1), worst = group.worst;
    button.type = "button";
    const line = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
    const what = document.createElement("span");
    const why = [reason(worst.kind), `score ${(worst.score ?? 0).toFixed(1)} (${odds(worst.score)})`];
    what.append("value ", line("em", number(worst.value)), `: ${why.filter(Boolean).join(", ")}`);
    const length = first.time === null ? `${last.place - first.place} values` : `${number(seconds(last.time) - seconds(first.time), 3)} s`;
    const many = group.alarms.length > 1 ? `${group.alarms.length} within ${length}` : "";
    button.append(line("b", group.key), what, line("span", [moment(first.time, true), many].filter(Boolean).join(", ")));
    button.addEventListener("click", () => this.jump(worst));
    return button;
  }
}
