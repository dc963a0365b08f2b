function inner() {
  throw new Error("boom-42");
}

function outer() {
  inner();
}

outer();
