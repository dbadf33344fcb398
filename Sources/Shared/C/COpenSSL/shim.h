#ifndef PEAL_COPENSSL_SHIM_H
#define PEAL_COPENSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/* Macros and variadic functions of OpenSSL 3 that Swift cannot call. */
static inline long peal_ssl_ctx_min_tls12(SSL_CTX *ctx) { return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION); }
static inline long peal_ssl_ctx_modes(SSL_CTX *ctx) {
    return SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                     SSL_MODE_RELEASE_BUFFERS);
}
static inline long peal_ssl_ctx_cache_off(SSL_CTX *ctx) { return SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF); }
static inline long peal_ssl_ctx_read_ahead(SSL_CTX *ctx) { return SSL_CTX_set_read_ahead(ctx, 1); }
static inline long peal_ssl_set_host(SSL *ssl, const char *name) { return SSL_set_tlsext_host_name(ssl, (char *)name); }
static inline long peal_ssl_ctx_add_chain(SSL_CTX *ctx, X509 *x509) { return SSL_CTX_add1_chain_cert(ctx, x509); }
/* Without a callback OpenSSL asks for the passphrase of an encrypted PEM on the terminal, and waits. */
static inline int peal_no_passphrase(char *out, int size, int writing, void *user) {
    (void)out, (void)size, (void)writing, (void)user;
    return -1;
}
static inline void peal_bio_retry_read(BIO *bio) { BIO_clear_retry_flags(bio); BIO_set_retry_read(bio); }
static inline void peal_bio_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }
static inline EVP_PKEY *peal_generate_p256(void) { return EVP_EC_gen("P-256"); }
static inline EVP_PKEY *peal_generate_rsa(unsigned bits) { return EVP_RSA_gen(bits); }
static inline long peal_bio_mem_data(BIO *bio, char **out) { return BIO_get_mem_data(bio, out); }
static inline int peal_ctrl_flush(void) { return BIO_CTRL_FLUSH; }
static inline X509_EXTENSION *peal_x509_extension(X509 *issuer, X509 *subject, int nid, const char *value) {
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, issuer, subject, NULL, NULL, 0);
    return X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
}

#endif
