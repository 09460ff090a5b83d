// serve/serve_main.c - the program runnel-serve, which `runnel serve` becomes: what HTTP and TLS link with costs the other commands nothing.
#include "app/process.h"
#include "serve/serve.h"

int main(int argc, char **argv) {
    process_begin();
    return process_end(cmd_serve(argc > 0 ? argc - 1 : 0, argv + (argc > 0)));
}
