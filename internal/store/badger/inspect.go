package badger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"golang.org/x/sys/unix"
)

// ErrDamaged: the store's files are not what was written. Nothing was opened or changed.
var ErrDamaged = errors.New("the store is damaged")

// remedy says what to do about a damaged store.
const remedy = "nothing was opened or changed: look at the disk (kernel log, SMART), keep a copy of this directory, " +
	"and put back the data directory from a backup"

func damagedf(format string, arguments ...any) error {
	return explain(damage{fmt.Sprintf(format, arguments...)}, remedy)
}

// inspection is what the files of a store say before the engine opens them.
type inspection struct {
	dir         string
	side        sideNumber
	tables      uint64 // the highest commit in a table
	last        uint64 // the highest commit
	logs        []walked
	values      []string // files of the value log, which is not used
	manifestEnd int64    // how much of the manifest is whole
	step        func()   // Options.step
}

// inspect reads all files of a store and changes none of them (S1): tables and manifest
// have to be whole, the commits of the logs have to follow without a gap on those of
// the tables, and they have to reach the number that the side file says was on disk.
func inspect(dir string, side sideNumber) (*inspection, error) {
	i := &inspection{dir: dir, side: side}
	logs, values, tables, err := logFiles(dir)
	if err != nil {
		return nil, err
	}
	if err := i.readManifest(logs, tables); err != nil {
		return nil, err
	}
	for _, path := range values {
		if err := checkUnused(path); err != nil {
			return nil, err
		}
	}
	i.values = values
	for _, path := range logs {
		w, err := walkLog(path)
		if err != nil {
			return nil, err
		}
		i.logs = append(i.logs, w)
	}
	return i, i.checkNumbers()
}

// readManifest checks the manifest and every table that it names.
func (i *inspection) readManifest(logs, tables []string) error {
	path := filepath.Join(i.dir, badger.ManifestFilename)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if len(logs)+len(tables) > 0 || i.side.number > 0 {
			return damagedf("%s is missing", path)
		}
		return nil // a new store
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	manifest, end, err := badger.ReplayManifestFile(f, 0, badger.Options{})
	if err != nil {
		return damagedf("%s cannot be read (%v), or another version of the engine wrote it", path, hide(err))
	}
	i.manifestEnd = end
	for id, entry := range manifest.Tables {
		if entry.KeyID != 0 || entry.Compression != options.None {
			return damagedf("%s: table %d has a form that this engine never writes", path, id)
		}
		highest, err := checkTable(table.NewFilename(id, i.dir), id)
		if err != nil {
			return explain(err, remedy)
		}
		i.tables = max(i.tables, highest)
	}
	return nil
}

// checkTable verifies every block of a table, and gives its highest commit. Badger
// leaves a table out whose checksum is wrong, or panics. What is wrong is a damage.
func checkTable(path string, id uint64) (highest uint64, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, damage{path + " is missing"}
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if info.Size() < minTable {
		return 0, damage{fmt.Sprintf("%s has only %d bytes", path, info.Size())}
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return 0, fmt.Errorf("map %s: %w", path, err)
	}
	defer func() { _ = unix.Munmap(data) }()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // a sector that cannot be read
	defer func() {
		if r := recover(); r != nil {
			highest, err = 0, damage{path + " cannot be read, or one of its blocks has changed since it was written"}
		}
	}()
	if length := int64(binary.BigEndian.Uint32(data[len(data)-4:])); length > info.Size()-8 {
		return 0, damage{path + ": its end cannot be read"}
	}
	t, err := table.OpenInMemoryTable(data, id, &table.Options{ChkMode: options.OnTableAndBlockRead})
	if err == nil {
		err = t.VerifyChecksum()
	}
	if err != nil {
		return 0, damage{fmt.Sprintf("%s: %v", path, hide(err))}
	}
	return t.MaxVersion(), nil
}

// minTable is less than any table has, in bytes.
const minTable = 16

// checkUnused makes sure that a file of the value log holds nothing.
func checkUnused(path string) error {
	data, _, err := readSparse(path)
	if err != nil {
		return err
	}
	if len(data) > logHeader {
		if r, ok := readRecord(data[logHeader:]); ok {
			return damagedf("%s holds a value (%d bytes), but this store keeps all values in its tables", path, len(r.value))
		}
	}
	return nil
}

// checkNumbers makes sure that no commit is missing.
func (i *inspection) checkNumbers() error {
	i.last = i.tables
	final := -1 // the last log that has commits of its own
	for n := range i.logs {
		w := &i.logs[n]
		switch {
		case w.last == 0 && w.behind > i.last+1:
			return damagedf("%s: its beginning is damaged, and commit %d comes after it", w.path, w.behind)
		case w.last == 0 || i.done(w):
			continue
		case w.first <= i.tables:
			return damagedf("%s begins with commit %d, but the tables already have all up to %d", w.path, w.first, i.tables)
		case w.first != i.last+1:
			return damagedf("commits %d to %d are missing before %s", i.last+1, w.first-1, w.path)
		}
		i.last, final = w.last, n
	}
	for n := range i.logs {
		if w := &i.logs[n]; w.torn && n < final && !i.done(w) {
			return damagedf("%s: it is damaged from byte %d on, and later logs exist", w.path, w.end)
		}
	}
	if i.last < i.side.number {
		return damagedf("commit %d was on disk (%s says so), but the last one that can be read is %d", i.side.number, sideName, i.last)
	}
	return nil
}

// done says whether everything that a log has is in the tables: Badger was killed
// before it had removed it. To read it again could bring deleted keys back, since the
// tables may have forgotten the deletion together with what was deleted.
func (i *inspection) done(w *walked) bool { return w.last != 0 && w.last <= i.tables }
