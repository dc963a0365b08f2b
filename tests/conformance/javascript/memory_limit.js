const STEP = 8 * 1024 * 1024;

const blocks = [];
for (;;) {
  blocks.push(Buffer.alloc(STEP, "x"));
}
