// FormData, and forms as bodies.
const entries = (form) => [...form].map(([name, value]) => [name, typeof value === "string" ? value : `${value.name}|${value.type}|${value.size}`]);

export default {
  "append and get": () => {
    const form = new FormData();
    form.append("a", "1");
    form.append("a", 2);
    form.append("b", null);
    return [form.get("a"), form.getAll("a"), form.get("b"), form.get("c"), form.has("a"), form.has("c"), entries(form)];
  },
};
