for (const name of ["SIGHUP", "SIGINT", "SIGTERM"]) {
  process.on(name, () => {});
}

for (;;);
