import base from '../../jest.config.js';

/**
 * What the service is shipped as and runs beside: the image, the archive, compose, Kubernetes,
 * systemd, Prometheus, caches and load balancers. They need most of the programs that .ci/run installs.
 * @type {import('jest').Config}
 */
export default {
  ...base,
  rootDir: '../..',
  testMatch: ['<rootDir>/test/deploy/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
