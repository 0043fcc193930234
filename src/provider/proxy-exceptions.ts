import { isIPv6 } from 'node:net';

// NO_PROXY. undici reads it too, but takes the `1` of `::1` for a port, accepts `*` only by itself,
// and distinguishes `example.com.` from `example.com`.

/**
 * Whether `exceptions`, the value of NO_PROXY, names the host of `url`: itself, a domain above it
 * (also as `.example.com` or `*.example.com`), or everything (`*`).
 */
export const isExcepted = (url: URL, exceptions: string): boolean => {
  const host = url.hostname.replace(/\.$/, '');
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return exceptions
    .toLowerCase()
    .split(/[,\s]+/)
    .some((entry) => {
      if (entry === '*') return true;
      const [, name = '', entryPort = port] =
        ENTRY.exec(isIPv6(entry) ? `[${entry}]` : entry) ?? [];
      const domain = shortened(name);
      return domain !== '' && entryPort === port && `.${host}`.endsWith(`.${domain}`);
    });
};

/** The name, without a dot before or after it, and the port. */
const ENTRY = /^(?:\*?\.)?(.*?)\.?(?::(\d+))?$/;

/** An IPv6 address in brackets as URLs write it; any other name unchanged. */
const shortened = (name: string): string =>
  name.startsWith('[') && URL.canParse(`http://${name}`)
    ? new URL(`http://${name}`).hostname
    : name;
