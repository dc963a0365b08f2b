function again() { return again() + 1; }
try {
  again();
} catch (error) {
  console.log(error instanceof RangeError, error.message);
}
