async function fail() {
  throw new Error("nobody catches this");
}

process.on("exit", (code) => console.log("exit", code));
fail();
setTimeout(() => console.log("never printed"), 1000);
