"""subprocess and os: pipes, environments, timeouts, errors, process trees."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

run = subprocess.run
print(run(["sort", "-r"], input="b\na\nc\n", capture_output=True, text=True).stdout.split())
print(run("echo $GREETING | tr a-z A-Z; exit 7", shell=True, env={**os.environ, "GREETING": "hi"}, capture_output=True, text=True))
with tempfile.TemporaryDirectory() as folder:
    print(run(["pwd"], cwd=folder, capture_output=True, text=True).stdout.strip() == os.path.realpath(folder))
for command in (["false"], ["no-such-program"]):
    try:
        run(command, check=True)
    except subprocess.CalledProcessError as error:
        print(error)
    except FileNotFoundError as error:
        print(type(error).__name__, error.errno, error.strerror, error.filename)
try:
    run(["sleep", "20"], timeout=0.1)
except subprocess.TimeoutExpired as error:
    print(type(error).__name__, error.cmd)
child = subprocess.Popen([sys.executable, "-c", "import sys, time; print('ready', flush=True); time.sleep(20)"], stdout=subprocess.PIPE, text=True)
print(child.stdout.readline().strip(), child.poll())
child.terminate()
print(child.wait() == -signal.SIGTERM, child.returncode)
first = subprocess.Popen(["seq", "100"], stdout=subprocess.PIPE)
second = subprocess.Popen(["tail", "-n2"], stdin=first.stdout, stdout=subprocess.PIPE, text=True)
first.stdout.close()
print(second.communicate()[0].split(), first.wait())
print(os.popen("echo popen").read(), os.waitstatus_to_exitcode(os.system("exit 3")), subprocess.getoutput("echo got"))
reader, writer = os.pipe()
with os.fdopen(writer, "w") as stream:
    stream.write("through a pipe")
print(os.read(reader, 100), shutil.which("sort") is not None, shutil.which("nonesuch"))
print(subprocess.check_output([sys.executable, "-c", "import os; print(os.environ.get('X'), os.getppid() > 0)"], env={"X": "1", "PATH": os.environ["PATH"]}, text=True).strip())
