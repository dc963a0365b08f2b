const records = [];
for (let id = 0; ; id += 1) {
  records.push({ id, name: `record ${id}`, tags: [id, id + 1] });
}
