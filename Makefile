# make; make install     build and install for the PostgreSQL of PG_CONFIG
# make installcheck      test on a running server
# make demo, make check  install what is missing and do everything in a throw-away cluster

EXTENSION = pattern
MODULE_big = pattern
DATA = $(wildcard pattern--*.sql)
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c src/*/*.c)))

PG_CPPFLAGS = -I$(srcdir)/src
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare
ifneq ($(findstring clang,$(CC)),)
# PostgreSQL's own flags were chosen for gcc
PG_CFLAGS += -Wno-unknown-warning-option -Wno-ignored-optimization-argument -Wno-ignored-attributes
endif

# Each file in sql/, specs/ and t/ is a test.  They find the extension created,
# in a UTF8 database in the C locale, whatever the server's own is.
REGRESS := $(sort $(basename $(notdir $(wildcard sql/*.sql))))
ISOLATION := $(sort $(basename $(notdir $(wildcard specs/*.spec))))
TAP_TESTS := $(if $(wildcard t/*.pl),1)
REGRESS_OPTS = --load-extension=$(EXTENSION)
ISOLATION_OPTS = --load-extension=$(EXTENSION)
ENCODING = UTF8
NO_LOCALE = 1

# libbson is linked statically, zlib is PostgreSQL's own, and only src/exports.txt is exported: another
# library in the backend may bring bson_* functions of another version.
SHLIB_EXPORTS = src/exports.txt
PKG_CONFIG ?= pkg-config
LIBBSON := $(firstword $(foreach name,libbson-static-1.0 bson2-static,\
	$(shell $(PKG_CONFIG) --exists $(name) 2>/dev/null && echo $(name))))
SHLIB_LINK = $(shell $(PKG_CONFIG) --static --libs $(LIBBSON)) -lz

# No bitcode: the JIT compiler would look for what an inlined function calls
# in the whole backend, where our private functions are not to be found.
override with_llvm = no

PG_CONFIG ?= pg_config
EXTRA_CLEAN = .built-for

ifneq ($(filter demo check,$(MAKECMDGOALS)),)

# These two start on a bare machine, without pg_config.
export PG_CONFIG
.PHONY: demo check
demo:
	@scripts/build
	@scripts/throwaway-cluster demo/run
check:
	@scripts/build --with-tests
	@scripts/throwaway-cluster scripts/run-tests

else

PGXS := $(shell $(PG_CONFIG) --pgxs)
ifeq ($(wildcard $(PGXS)),)
$(error PostgreSQL is missing: install it, or set PG_CONFIG)
endif
include $(PGXS)
ifneq ($(filter 9.% 10 11 12 13 14,$(MAJORVERSION)),)
$(error pattern needs PostgreSQL 15 or later, $(PG_CONFIG) belongs to $(VERSION))
endif

# Objects made with other headers or for another server are no use.
$(OBJS): Makefile .built-for $(wildcard src/*.h src/*/*.h)
.built-for: FORCE
	@echo '$(VERSION) $(includedir_server)' | cmp -s - $@ || echo '$(VERSION) $(includedir_server)' > $@

# Only src/bson/ sees libbson's headers.
$(filter src/bson/%,$(OBJS)): override CPPFLAGS += \
	$(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags $(LIBBSON)))

MISSING := $(if $(wildcard $(includedir_server)/postgres.h),,postgresql-server-dev-$(MAJORVERSION)) \
	$(if $(LIBBSON),,libbson-dev) \
	$(if $(shell $(PKG_CONFIG) --exists zlib && echo yes),,zlib1g-dev)
ifneq ($(strip $(MISSING)),)
$(OBJS): something-is-missing
something-is-missing:
	@echo 'Please install first (by the Debian names): $(strip $(MISSING))' >&2; exit 1
endif

check-exports: $(shlib)
	scripts/check-exports $(shlib)

.PHONY: FORCE check-exports something-is-missing
FORCE:

endif
