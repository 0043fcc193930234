// A self-signed certificate for localhost, valid until 2126, and its key, made only for the tests, so that they need no tool
// for TLS. (openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -days 36500)

export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBljCCATugAwIBAgIUZQlLgHvEkdGQ6L4TQuxwO71QdRYwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTA1MjYyN1oYDzIxMjYxMDI4
MDUyNjI3WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATnmVfpXb/LeI01lJv2+9I9o1Gzaq3uejifCHRLMsuCCdbjSnN6hQzN
VzEc/RcUUo0LIRYoeBlkAMlo1bglbYqyo2kwZzAdBgNVHQ4EFgQUkkm61tx2WwtV
+b92Fdr9r0od+e0wHwYDVR0jBBgwFoAUkkm61tx2WwtV+b92Fdr9r0od+e0wDwYD
VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwID
SQAwRgIhALMkXYHcLcekgjxjxjz1dsVrZBLvhW1xcBqZS4YzIog1AiEAzogh+9Iv
6vOtG7sHeudLiySj/Rw+EIF+IqxvQR4sfOQ=
-----END CERTIFICATE-----
`;

export const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgrXggfgposdIGZXq4
jB9NeiB4g40ObMp7vcUJA2UXfeKhRANCAATnmVfpXb/LeI01lJv2+9I9o1Gzaq3u
ejifCHRLMsuCCdbjSnN6hQzNVzEc/RcUUo0LIRYoeBlkAMlo1bglbYqy
-----END PRIVATE KEY-----
`;
