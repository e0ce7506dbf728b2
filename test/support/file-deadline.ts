// Loaded before each test file of a run of all tests (check.ts). `--test-timeout` ends a test, but not a hook, nor a file
// whose process cannot end because something is still open: it would block the run until its end, and not be named.

/** Ten times as long as the slowest file takes: also enough on a machine that is busy with other work. */
const FILE_MS_MAX = 5 * 60_000;

/** Absent in the test runner itself, which this is loaded into as well. */
const isTestFile = process.env['NODE_TEST_CONTEXT'] !== undefined;

if (isTestFile) {
  setTimeout(() => {
    const open = process.getActiveResourcesInfo().join(', ');
    process.stderr.write(
      `${process.argv[1]} has not ended after ${FILE_MS_MAX / 1000} s; it is ended. Open: ${open}\n`,
    );
    process.exit(1);
  }, FILE_MS_MAX).unref();
}
