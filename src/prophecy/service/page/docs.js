// The API's own description, openapi.json, as a page.

const make = (tag, text = "", ...children) => {
  const element = Object.assign(document.createElement(tag), { textContent: text });
  element.append(...children);
  return element;
};

function kind(schema = {}, all) {
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.anyOf) return schema.anyOf.map((one) => kind(one, all)).join(" or ");
  if (schema.type === "array") return `list of ${kind(schema.items, all)}`;
  const limits = [["minimum", "≥"], ["maximum", "≤"], ["exclusiveMinimum", ">"], ["exclusiveMaximum", "<"]];
  const words = limits.filter(([name]) => schema[name] !== undefined).map(([name, sign]) => `${sign} ${schema[name]}`);
  return [schema.type ?? "anything", ...words].join(" ");
}

function table(rows) {
  const body = make("tbody");
  for (const cells of rows) {
    const line = make("tr");
    cells.forEach((cell, at) => line.append(at ? make("td", cell) : make("td", "", make("code", cell))));
    body.append(line);
  }
  return make("table", "", body);
}

function fields(name, all) {
  const schema = all[name];
  return Object.entries(schema?.properties ?? {}).map(([field, about]) => [field, kind(about, all), about.description ?? ""]);
}

function command(method, path, operation) {
  const parts = [`curl ${location.origin}${path.replace("{key}", "boiler")}`];
  if (path === "/v1/forecast") parts[0] = `curl '${location.origin}${path}?key=boiler&horizon=24'`;
  if (method === "delete") parts[0] = parts[0].replace("curl", "curl -X DELETE");
  const body = operation.requestBody?.content["application/json"]?.example;
  if (body) parts.push("-H 'Content-Type: application/json'", `-d '${JSON.stringify(body)}'`);
  return parts.join(" \\\n  ");
}

function route(method, path, operation, all) {
  const head = make("summary", "", make("b", method.toUpperCase()), make("code", path), make("span", operation.summary ?? ""));
  const box = make("details", "", head);
  box.append(make("pre", "", make("code", command(method, path, operation))));
  if (operation.requestBody) {
    box.append(make("h3", "Body"), table(Object.entries(operation.requestBody.content).map(([type, about]) => [type, typeof about.example === "string" ? about.example : JSON.stringify(about.example)])));
  }
  if (operation.parameters?.length) {
    box.append(make("h3", "Parameters"), table(operation.parameters.map((one) => [
      one.name, kind(one.schema, all) + (one.schema.default !== undefined ? `, ${one.schema.default} if not given` : ""), one.description ?? "",
    ])));
  }
  for (const [code, answer] of Object.entries(operation.responses)) {
    const schema = answer.content?.["application/json"]?.schema, name = schema?.$ref?.split("/").at(-1);
    box.append(make("h3", `${code}: ${answer.description}`));
    if (name && name !== "Error") box.append(table(fields(name, all)));
  }
  return box;
}

const found = await (await fetch("/openapi.json", { credentials: "omit" })).json();
document.getElementById("summary").textContent = `${found.info.summary} Version ${found.info.version}.`;
const place = document.getElementById("routes");
for (const [path, operations] of Object.entries(found.paths)) {
  for (const [method, operation] of Object.entries(operations)) place.append(route(method, path, operation, found.components.schemas));
}
place.setAttribute("aria-busy", "false");
