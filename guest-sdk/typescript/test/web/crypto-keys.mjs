// Keys for tests only, made with `openssl genpkey`, as base64 of their DER.

export const rsa = {
  pkcs8: 
    "MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQDH42PSXIlNQGDBxMDmYC6AorThaB9Rk7M1gljqNP3vDkBH/y3uDsO0zOu7eTvpS+xPdE" +
    "4sJ6/jl27cmU53nMOPYBR2ToQFF9fDsDC/unI5XIGEgebkCDnJ/jIv0XJmREwoqnhgp+WYYOZ9OF0xj6DMJfKb0N3QBIW00k3H2f6jCA1bcJTLnxvZB7nS" +
    "qtRyAaGiC7eVRmSCgPjJj+uEw6Fgk9qDK7/2dRE5gQSNEJTsVJw3z58U1YYnWS2uCs+pWdnfa9ZzUlC1AKE1JFrI0YFa93bb/UaPt02qCUSTkn/bvfbw7x" +
    "FKeZGTviYWRPbfm4/MCW63T8H74x/o5UyIoiJbAgMBAAECggEABMGo9O8Fx2RSSRoc+v5r7NyyUDDRmffZSlstMXmMV11v8yaj2afZSVqc+2uRnOYVG/jp" +
    "CUzydwh5917giqEc2DMRmZUZuCNOm5X8Ovu9Txcf797Fd0So12EooZGq1rsmUstnrOkh4gPgSDeIpC7GRUVb5hBMzu/knJ5qgmhyEkAKhEI/5yYS+f2HuG" +
    "fQQ05NUcIpmuAviLmx1QRLjRrJxz+b683aNAEmMvhqG1ccAFrPLsED+2cvA8Wyw1K0itHMOYNL9kcp/yyffemJjOaNXvqYz3NuWVTvuuyysNuG6nEgX2Hs" +
    "WdrYPyUjE0yHIVcI2+rm37Cufz+yzkyhx8MfKQKBgQDwQ5C2vxe0smU6kYxoKxNRYuDkYALakukAiKbdv3o3VgaykLUaNLeHRrn7wxy8rMNthchZn2jtgC" +
    "111bJKZDnMSJ9F+m7Jz8ROAGhXbRo3bJP6ZEBLglGkv0yBCVZxPnKZXw5er7jYRoS3/Q07KUJGM3jqVbn97yc01eneHMf3EwKBgQDU+tt9n9ypNnmBeyRj" +
    "EJW7LxVC08o+MWHfBWIbaXfjrJdOSqbobWOMZBukxsxPL0PG8F/1XUQlQlgyyzf1OEPp6pjHCqNMEoXW2ke3Hk4aUjNCWVRyWZmv1ZK4nVKqZx3CxSCuC2" +
    "nJeP2kMroVhuGA7JGzUID4LjCKoiK7wXmomQKBgHCMdgHlSkmPN/RTsh4p74a0dv0ELNIO968UVHaT98BsP/7t4qhAAakQ7JaPM6r+kx1/CfdRwWlgHeuR" +
    "C0/l211it5mkUrme5ipT7ozlwt4rsrYcuDGm/m/aXRAlO6UYx74o1SZt0n0dq5Y0qDoKfc0812uOdO4LVaZefotZmCKZAoGAbIajn8D9HRCQG8WXBg/mbG" +
    "qSh+oJ7WUWfSFuG4/DsrU4qIFryZYsGtbMK0vNwi/Qdqf4DbyHxACplsBs9DzGhoSvcwVdrp7lqlSyJIKBw/HNAusoF9jGco3+5Knt/LzsslnmzCkur6ZC" +
    "gRAEOIHxmNNzbw7/mPdYbtwtnMT67EkCgYBaBYICkieDsMVSoJs4jnhxkraRpmiqvDiFF1GlEkGDpKYAm+wVYRsL2wgnOZwVLU1WP6B4xemGj1W0YDZRWP" +
    "sCn0iVMiv/NFFfa4tUlW9YgVUhtATAasBoU0d4ZZ049wNx3y0Qeteprekgk0sUap6vk0WIU5NihYXH00LsbuvXpA==",
  spki: 
    "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAx+Nj0lyJTUBgwcTA5mAugKK04WgfUZOzNYJY6jT97w5AR/8t7g7DtMzru3k76UvsT3ROLCev45" +
    "du3JlOd5zDj2AUdk6EBRfXw7Awv7pyOVyBhIHm5Ag5yf4yL9FyZkRMKKp4YKflmGDmfThdMY+gzCXym9Dd0ASFtNJNx9n+owgNW3CUy58b2Qe50qrUcgGh" +
    "ogu3lUZkgoD4yY/rhMOhYJPagyu/9nUROYEEjRCU7FScN8+fFNWGJ1ktrgrPqVnZ32vWc1JQtQChNSRayNGBWvd22/1Gj7dNqglEk5J/27328O8RSnmRk7" +
    "4mFkT235uPzAlut0/B++Mf6OVMiKIiWwIDAQAB",
};

export const p256 = {
  pkcs8: 
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg7WYS6sIcHJ1BCzq+PSpL4inaOQVT7I/bo0QnJrMdPaKhRANCAAQqtF+fuYfXcHDJ1Pt5lr" +
    "iZ+PpaOtA1ymZ9qNqcdRfSCJqPIgeorSyHpa1B0cqfNtj+7fmHu5SSaM1gKQpTUR7H",
  spki: 
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEKrRfn7mH13BwydT7eZa4mfj6WjrQNcpmfajanHUX0giajyIHqK0sh6WtQdHKnzbY/u35h7uUkmjNYCkKU1" +
    "Eexw==",
};

export const p384 = {
  pkcs8: 
    "MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDCvPkfb48mvwxtNUBKIOMRNUqolLfTRvYFCq6Fsuk4ichfr8y4YD3Hi0Lg9D6gWVXqhZANiAA" +
    "RhHmHirP326IqZqaSYxaC/6N4KC89ywa0YmYoYDunPORKuUqppcAOvvT3m/iyg5Fd0qPe5utP1r7oQbwIxyCm/ZVz/vLdlq/j7eUt+5flBz4CXXYPleefe" +
    "vEIxeg7wjcM=",
  spki: 
    "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEYR5h4qz99uiKmamkmMWgv+jeCgvPcsGtGJmKGA7pzzkSrlKqaXADr7095v4soORXdKj3ubrT9a+6EG8CMcgpv2" +
    "Vc/7y3Zav4+3lLfuX5Qc+Al12D5Xnn3rxCMXoO8I3D",
};

export const ed25519 = {
  pkcs8: "MC4CAQAwBQYDK2VwBCIEIIb2s8vO1n2VVBFUSxFLPfkBB/amziWbV+DWfVwb6xyd",
  spki: "MCowBQYDK2VwAyEADDhpPTEXmtsn48v6MTHB5c5Hrq0jauKwyPQDVhxyCu4=",
};

export const x25519 = {
  pkcs8: "MC4CAQAwBQYDK2VuBCIEIJjI9Rds6eboRry6Zm9vc+q1WT/Vi2evR/868/yVph5K",
  spki: "MCowBQYDK2VuAyEAuYRM/tAwKkjaIiNblcalSIDGo8S07yYKidB0U3pvlWY=",
};
