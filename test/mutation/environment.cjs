// One failed test is enough to notice a fault. Jest would run the tests after it all the same, which takes most of the time.

const { TestEnvironment } = require('jest-environment-node');

/** The fault that was noticed last. */
let noticed;

module.exports = class extends TestEnvironment {
  handleTestEvent({ name, test }) {
    // oxlint-disable-next-line node/no-process-env -- where Stryker says which fault is in the code
    const fault = process.env['__STRYKER_ACTIVE_MUTANT__'];
    if (name === 'test_fn_failure') noticed = fault;
    else if (name === 'test_start' && fault !== undefined && fault === noticed) test.mode = 'skip';
  }
};
