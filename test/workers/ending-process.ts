// A worker that ends as soon as it is ready.

process.once('message', () => {
  process.send?.(['ready'], undefined, undefined, () => process.exit(3));
});
