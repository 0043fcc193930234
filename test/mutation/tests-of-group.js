// The tests of a group as one file: Jest takes a quarter of a second to begin with a file, which is most of what a fault costs.

// oxlint-disable-next-line no-await-in-loop -- Jest collects the tests of one module after the other
for (const path of globalThis.TEST_FILES) await import(path);
