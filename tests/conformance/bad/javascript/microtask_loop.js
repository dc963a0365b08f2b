function turn() {
  Promise.resolve().then(turn);
}

setTimeout(() => console.log("never printed"), 0);
turn();
