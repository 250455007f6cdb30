# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Pages of report and compare --html in Chromium: drawn, readable by keyboard and in words, quiet.

page_test.py pages|seconds FOLDER PROGRAM...: the programs write pages to the folder, where with QUADRILLE_PICTURES
in the environment pictures of them stay; "seconds" looks at nothing but how long the largest takes to open.
Exit 77 without Chromium.
"""
import base64
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import check  # noqa: E402

try:
    from selenium import webdriver
    from selenium.webdriver.common.keys import Keys
except ImportError:
    webdriver = None

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
# How many of a chart's pixels have a colour: those of axes, grids and texts are shades of grey.
COLOURED = """const canvas = arguments[0];
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let found = 0;
  for (let i = 0; i < data.length; i += 4) {
    const [r, g, b, a] = data.slice(i, i + 4);
    if (a > 40 && Math.max(r, g, b) - Math.min(r, g, b) > 50) ++found;
  }
  return found;"""


class Browser:
    """Chromium without a window; widths are of the page."""

    def __init__(self, folder):
        self.folder = folder
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        # Root has no sandbox, and containers little shared memory.
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                         "--hide-scrollbars"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=webdriver.chrome.service.Service(DRIVER), options=options)
        self.run = self.driver.execute_script

    def resize(self, width, theme="light", media=""):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "media": media, "features": [{"name": "prefers-color-scheme", "value": theme}]})

    def open(self, name, width=1200, theme="light"):
        self.resize(width, theme)
        self.driver.get((self.folder / f"{name}.html").as_uri())
        check(self.run("return document.documentElement.dataset.ready") == "yes", f"{name}: {self.errors()}")

    def errors(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    @staticmethod
    def wait(holds, message):
        """What the page does is done a little later, on a busy machine."""
        for _ in range(100):
            if holds():
                return
            time.sleep(0.02)
        check(False, message)

    def see(self, element):
        """Scrolls there, and waits until a chart that lies there is drawn."""
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        self.wait(lambda: self.run("return arguments[0].closest('figure')?.card?.chart != null", element),
                  f"no chart: {element.get_attribute('aria-label')}")

    def picture(self, name):
        if "QUADRILLE_PICTURES" not in os.environ:
            return
        width, height = self.run("const e = document.documentElement; return [e.scrollWidth, e.scrollHeight]")
        picture = self.driver.execute_cdp_cmd("Page.captureScreenshot", {
            "captureBeyondViewport": True,
            "clip": {"x": 0, "y": 0, "width": width, "height": min(height, 12000), "scale": 1}})
        (self.folder / f"{name}.png").write_bytes(base64.b64decode(picture["data"]))


def charts(browser, least, *sections):
    """Every chart draws, and has words and a table."""
    found = browser.run(f"""const coloured = function() {{ {COLOURED} }};
      return cards.map((card) => {{
        card.draw();
        card.tables.open = true;
        card.fillTable();
        const rows = card.tables.querySelectorAll('tbody tr').length;
        card.tables.open = false;
        return [card.canvas.ariaLabel, coloured(card.canvas), rows, card.canvas.getAttribute('role')];
      }})""")
    check(len(found) >= least, f"{len(found)} charts")
    for label, coloured, rows, role in found:
        check(coloured > 20, f"nothing is drawn: {label}")
        check(role == "img" and len(label) > 40, f"no words: '{label}'")
        check(rows > 0, f"no table: {label}")
    titles = [title.text for title in browser.all("h2")]
    for wanted in ("Summary", *sections, "All measurements"):
        check(wanted in titles, f"{wanted} is no section of {titles}")


# What lies where it should not, in every chart as the file that it is saved as, and around them.
MISPLACED = """const found = [], isPaper = arguments[0];
  const room = document.createElement('div');
  room.style.cssText = 'position: absolute; left: 0; top: 0; visibility: hidden';
  document.body.append(room);
  for (const card of isPaper ? [] : cards) {
    card.redraw();
    card.draw();
    const root = card.svg();
    room.replaceChildren(root);
    const {left: x0, top: y0, width, height} = root.getBoundingClientRect();
    const boxOf = (node) => {
      const {left, right, top, bottom} = node.getBoundingClientRect();
      return {left: left - x0, right: right - x0, top: top - y0, bottom: bottom - y0};
    };
    // A line of text is higher than its letters.
    const texts = [...root.querySelectorAll('text')].filter((one) => one.textContent.trim()).map((one) => ({said: one.textContent, ...boxOf(one)}))
      .map((box) => ({...box, top: box.top + 3, bottom: box.bottom - 3}));
    const points = [...root.querySelectorAll('path')].map(boxOf)
      .filter(({left, right, top, bottom}) => right - left > 4 && right - left < 15 && bottom - top > 4 && bottom - top < 15);
    const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
    texts.forEach((text, i) => {
      if (text.left < -1 || text.right > width + 1 || text.top < -3 || text.bottom > height + 3) found.push(`${card.title}: '${text.said}' is cut`);
      const other = texts.slice(i + 1).find((one) => overlap(text, one));
      if (other) found.push(`${card.title}: '${text.said}' lies on '${other.said}'`);
      if (points.some((point) => overlap(text, point))) found.push(`${card.title}: '${text.said}' lies on a point`);
    });
  }
  room.remove();
  const view = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > view) found.push(`the page is wider than ${view}`);
  for (const one of document.querySelectorAll(`.card, .plot canvas${isPaper ? '' : ', #theme'}${isPaper || view < 600 ? '' : ', #nav a'}`)) {
    const {left, right} = one.getBoundingClientRect();
    if (left < 0 || right > view) found.push(`'${one.textContent.slice(0, 40)}' is cut`);
  }
  // No hole beside a card: those of a row end together.
  for (const grid of document.querySelectorAll('.grid')) {
    const rows = new Map();
    for (const card of grid.children) {
      const {top, bottom} = card.getBoundingClientRect();
      const at = Math.round(top);
      if (bottom - (rows.get(at) ?? bottom) > 1) found.push(`a hole beside '${card.textContent.slice(0, 40)}'`);
      rows.set(at, bottom);
    }
  }
  return found;"""


def structure(browser, *names):
    """At each size, dark and on paper, nothing is cut and nothing lies on another, in one load of the page."""
    for name in names:
        browser.open(name)
        for width, theme, media in ((400, "dark", ""), (1200, "light", ""), (1920, "light", ""), (720, "light", "print")):
            browser.resize(width, theme, media)
            misplaced = browser.run(MISPLACED, media == "print")  # which takes the charts as they are drawn
            check(not misplaced, f"{name} at {width}, {theme} {media}: {misplaced[:8]}")
            ticks(browser)
            if not media and (name == "cluster" or width > 400):
                browser.picture(f"{name}-{width}-{theme}")
        # On paper tables show all that scrolls on a screen, and none lies over what follows.
        cut = browser.run("""return [...document.querySelectorAll('.scroll')]
          .filter((one) => one.scrollHeight > one.getBoundingClientRect().height + 2).map((one) => one.ariaLabel)""")
        check(not cut, f"paper cuts {cut} of {name}")


def saved(browser):
    """What is saved as SVG is what the canvas shows."""
    browser.run("cards.forEach((card) => card.draw())")
    browser.driver.set_script_timeout(600)
    pairs = browser.driver.execute_async_script("const coloured = function() {" + COLOURED + "};" + """
      Promise.all(cards.map(async (card) => {
        const image = new Image();
        image.src = 'data:image/svg+xml,' + encodeURIComponent(card.saved());
        await image.decode();
        // Both on the ground of the card.
        return [card.title, ...[card.canvas, image].map((drawn) => {
          const canvas = document.createElement('canvas');
          canvas.width = image.width;
          canvas.height = image.height;
          const ctx = canvas.getContext('2d');
          ctx.fillStyle = color('card');
          ctx.fillRect(0, 0, canvas.width, canvas.height);
          ctx.drawImage(drawn, 0, 0, canvas.width, canvas.height);
          return coloured(canvas);
        })];
      })).then(arguments[0])""")
    for title, shown, kept in pairs:
        check(abs(shown - kept) < 0.25 * shown + 50, f"{title}: {shown} coloured pixels on the page, {kept} in the SVG")


def ticks(browser):
    """Each says what no other of its axis does."""
    doubled = browser.run("""return cards.flatMap(({chart, title}) => Object.values(chart?.scales ?? {})
      .filter(({type}) => type !== 'category').map(({axis, ticks}) => [`${title}, ${axis}`, ticks.map(({label}) => label).filter(Boolean)])
      .filter(([, said]) => new Set(said).size < said.length))""")
    check(not doubled, f"ticks say the same: {doubled}")
    near = browser.run("""const ticks = [0.2741, 0.27412, 0.27414].map((value) => ({value}));
      const {callback} = axis('', {text: seconds}).ticks;
      return ticks.map(({value}, i) => callback(value, i, ticks))""")
    check(near == ["274.1 ms", "274.12 ms", "274.14 ms"], f"ticks close to each other are {near}")
    same = browser.run("""const ticks = [0, 1, 2].map((more) => ({value: 1.98e9 + more}));
      const {callback} = axis('', {text: (x) => rate(x, 'Hz')}).ticks;
      return ticks.map(({value}, i) => callback(value, i, ticks))""")
    check(same == ["1.98 GHz", None, None], f"ticks that no digits tell apart are {same}")
    below = browser.run("return cards.filter(({chart, title}) => title === 'Samples' && chart.scales.y.min < 0).length")
    check(below == 0, "an axis of times begins below 0")


def intervals(browser):
    """Bars and points have theirs, around the value; a hollow point, or a word, says SUSPECT; points lie over roofs."""
    browser.open("cluster")
    browser.run("cards.forEach((card) => card.draw())")
    for section, value in (("ladders", "x"), ("sweeps", "y")):
        found = browser.run("""const [section, of] = arguments;
          return cards.filter(({node}) => node.closest(`#${section}`)).flatMap(({chart}) => chart.data.datasets.flatMap(({data, errors}) =>
            (errors ?? []).map((error, i) => error && error[0] <= (data[i][of] ?? data[i]) && error[1] >= (data[i][of] ?? data[i]))))""",
                            section, value)
        check(any(found) and False not in found, f"{section}: intervals are {found}")
    hollow = browser.run("""const card = color('card');
      return cards.filter(({node}) => node.closest('#sweeps')).flatMap(({chart}) => chart.data.datasets.flatMap((d) => d.pointBackgroundColor ?? []))
        .filter((one) => one === card).length""")
    suspect = browser.run("return groups.flatMap(({items}) => items).filter(({c}) => isSuspect(c)).length")
    check(suspect > 0 and hollow > 0, f"{hollow} hollow points of {suspect} SUSPECT measurements")
    orders = browser.run("""const {chart} = cards.find(({node}) => node.closest('#roofline'));
      return chart.data.datasets.map(({label, order}) => [label, order ?? 0])""")
    check(max(order for label, order in orders if label != "_roof") < min(order for label, order in orders if label == "_roof"),
          f"roofs lie over points: {orders}")


def ladder(browser):
    """Rungs tell what they gain, and the ceiling is drawn beside the vendor's rate; transports far apart have a logarithmic axis."""
    ends, gains, marks, ceilings, text = browser.run("""const card = cards.find(({node}) => node.closest('#ladders'));
      const {data: {datasets: [{ends}]}, options} = card.chart;
      const shown = groups.find(({title}) => title === card.title);
      const items = ofSize(shown, card.state.size);
      return [ends, [...gainsOf(items).values()], options.plugins.marks.at.map(({value}) => value), items.map(({c}) => c.ceiling), card.said.textContent]""")
    check("×" not in ends[0] and "×" not in ends[-1] and all(f"× {gain:.2f}" in end for gain, end in zip(gains, ends[1:-1], strict=True)),
          f"gains {gains} in {ends}")
    check(all(gain > 1.2 for gain in gains), f"each rung is about twice as fast as the one before, not {gains}")
    check(len(marks) == 2 and max(ceilings) in marks and "ceiling" in text, f"lines at {marks}, ceilings {ceilings}: {text}")
    scales = browser.run("return [[100, 200], [6, 600], [0, 600]].map(scaleOf)")
    check(scales == ["linear", "logarithmic", "linear"], f"scales of values are {scales}")


def timeline(browser):
    """A traced repetition is drawn by ranks and streams, in the colours of the legs."""
    browser.open("traced")
    browser.see(browser.all("#timeline canvas")[0])
    looks, rows, off = browser.run("""const {chart} = cards.find(({node}) => node.closest('#timeline'));
      return [chart.data.datasets.map(({label, backgroundColor}) => [label, backgroundColor]), chart.scales.y.ticks.map(({label}) => label.join(' ')),
        chart.data.datasets.flatMap(({data}, k) => chart.getDatasetMeta(k).data.map((bar, i) => Math.abs(bar.y - chart.scales.y.getPixelForValue(data[i].y))))]""")
    check(looks == [[kind, browser.run("return color(arguments[0])", name)]
                    for kind, name in (("compute", "own"), ("communicate", "vendor"), ("wait", "reference"))], f"colours are {looks}")
    check(rows == [f"rank {rank}, {stream}" for rank in (0, 1) for stream in ("main", "communication")], f"rows are {rows}")
    check(len(off) == 24 and max(off) < 1, f"bars lie {off} from their rows")
    arrows(browser, "timeline")


def cache(browser):
    """The L2 cache has a roof where a run measured its rate, and kernels whose traffic is known lie below it."""
    browser.open("cache")
    browser.see(browser.all("#roofline canvas")[0])
    found = """const {chart} = cards.find(({node}) => node.closest('#roofline'));
      const roof = chart.data.datasets.find(({label}) => label.startsWith('L2'));
      const {c} = all.find(({c}) => c.case === 'window');
      return [roof.data.map(({x, y}) => y / x / (32e9 / c.median_s)), chart.data.datasets[0].data.map(({x, item}) => [x, item.c.roofline.flop])]"""
    slopes, points = browser.run(found)
    check(all(abs(slope - 1) < 1e-6 for slope in slopes), f"slopes of the roof over the measured rate: {slopes}")
    browser.run("const s = document.querySelector('#roofline select'); s.selectedIndex = 1; s.dispatchEvent(new Event('change'))")
    _, of_cache = browser.run(found)
    check(len(points) > 1 and len(of_cache) == 1 and abs(of_cache[0][0] - of_cache[0][1] / 1e8) < 1e-6 * of_cache[0][0],
          f"points {points} of memory, {of_cache} of the cache")


def best(browser):
    """A textbook or a library that wins is no variant of this project."""
    browser.open("textbook")
    rows = browser.run("return [...document.querySelectorAll('#summary tbody tr')].map((row) => row.textContent)")
    check(len(rows) == 1 and "by_own" in rows[0] and "by_reference" not in rows[0], f"the best are {rows}")
    answers = ("yes", "fair", "no", "suspect", "no result", "unknown")
    check(rows[0].endswith(answers), f"nothing is said of whether {rows} is good")
    browser.see(browser.all("#ladders canvas")[0])
    label = browser.all("#ladders canvas")[0].get_attribute("aria-label")
    check("the fastest of this project is by_own" in label, f"the chart says {label}")


def vendor(browser):
    """Ratios to what is SUSPECT stand in brackets, and what contradicts the rates beside it is told."""
    browser.open("vendor")
    found = "\n".join(one.text for one in browser.all("#summary .findings > li"))
    for what in ("Slower than the vendor's library: the best variant of 1 case\n",
                 "As fast as the vendor's library, or faster: the best variant of 2 cases\n"):
        check(what in found, f"'{what}' is not in {found}")
    rows = browser.run("""const i = [...document.querySelectorAll('#measurements th')]
        .findIndex((th) => th.textContent.startsWith('vs vendor'));
      return [...document.querySelectorAll('#measurements tbody tr')].map((tr) => tr.cells[i]?.textContent ?? tr.textContent)""")
    check(rows.count("(0.50)") == 1 and rows.count("0.94") == 1, f"the ratios are {rows}")
    check(sum("by the median rates it is 110 %: times drifted" in row for row in rows) == 1, f"what contradicts: {rows}")


def transports(browser):
    """Of several the fastest is marked, and of a missing one the reason told."""
    browser.open("transports")
    card = next(card for card in browser.all("#summary article") if card.text.startswith("The best transport"))
    rows = [row.text for row in card.find_elements("css selector", "tbody tr")]
    marked = [cell.text for cell in card.find_elements("css selector", "td b")]
    check(len(rows) == 1 and " mpi " in rows[0], f"the best is mpi, not {rows}")
    check(len(marked) == 1 and rows[0].endswith(marked[0]), f"its rate is marked: {marked} of {rows}")
    check("Missing: there is no GPU." in card.text, f"why one is missing: {card.text}")


def chosen(browser):
    """Which transport "auto" took in a run tells no measurement from that of another."""
    browser.open("chosen")
    series = browser.run("return groups.map(({series}) => series)")
    check(len(series) == 1 and len(series[0]) == 1 and "·" not in series[0][0], f"the series are {series}")
    rows = [row.text for row in browser.all("#measurements tbody tr")]
    check(len(rows) == 2 and " mpi " in rows[0] and " ipc " in rows[1], f"the transports are in {rows}")


def swept(browser):
    """Cases of a sweep tell all that it varies and share a card; no table is cut, and no text crossed by a line."""
    for width, most in ((1200, {"All measurements"}), (1920, set())):
        browser.open("swept", width)
        cut = browser.run("""return [...document.querySelectorAll('.scroll')]
          .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel)""")
        check(set(cut) <= most, f"{width} cuts {cut}")
    notes = browser.run("return groups.map(({note}) => note.replaceAll('\\u00a0', ' '))")
    check(notes == [f"panel = {panel}, block = {block}, buffers = 3" for block in (64, 1024) for panel in (64, 256)],
          f"the settings are {notes}")
    settings = browser.run("return [...document.querySelectorAll('#measurements tbody tr')].map((row) => row.textContent)")
    check(sum("panel\u00a0=\u00a0256" in row for row in settings) == 4, f"measurements tell of {settings}")

    canvas, *others = browser.all("#ladders canvas")
    check(not others, f"{1 + len(others)} cards for one sweep")
    browser.see(canvas)
    figure = canvas.find_element("xpath", "ancestor::figure")
    shown = browser.run("""const [select] = arguments[0].querySelectorAll('select');
      return [select.options.length, select.value.replaceAll('\\u00a0', ' ')]""", figure)
    check(shown == [4, "panel = 256, block = 64"], f"of the choice is shown {shown}, not the fastest")
    label = canvas.get_attribute("aria-label")
    browser.run("""const select = arguments[0].querySelector('select'); select.selectedIndex = 0;
      select.dispatchEvent(new Event('change'))""", figure)
    check(canvas.get_attribute("aria-label") != label, f"the same for another choice: {label}")
    check("buffers" in figure.text and "block" not in figure.find_element("css selector", ".note").text, "what all share is told")

    # The same over each key of the sweep.
    shown = """const {chart} = cards.find(({node}) => node.closest('#sweeps'));
      return [chart.scales.x.options.title.text, chart.data.labels, chart.data.datasets.map(({data}) => data.length)]"""
    browser.see(browser.all("#sweeps canvas")[-1])
    first = browser.run(shown)
    browser.run("const s = document.querySelector('#sweeps select'); s.selectedIndex = 1; s.dispatchEvent(new Event('change'))")
    second = browser.run(shown)
    check(sorted([first[:2], second[:2]]) == [["block", ["64", "1024"]], ["panel", ["64", "256"]]], f"sweeps are over {first} and {second}")
    check(set(first[2] + second[2]) == {2}, f"lines have {first[2]} and {second[2]} places")

    # Wherever lines like that of the vendor's rate may be, texts at the ends of bars lie over them.
    crossed, beside = browser.run("""
      const {chart} = cards.find(({node}) => node.closest('#ladders'));
      const {ctx, chartArea: {left, width}, scales: {x}} = chart;
      const vendor = chart.options.plugins.marks.at[0].color;
      chart.options.plugins.marks.at = Array.from({length: width}, (_, i) => ({value: x.getValueForPixel(left + i), color: vendor}));
      chart.update('none');
      ctx.font = chartFont();
      const wanted = [1, 3, 5].map((at) => parseInt(vendor.slice(at, at + 2), 16));
      const {data} = ctx.getImageData(0, 0, chart.width, chart.height);
      const isColoured = (px, py) => wanted.every((c, j) => Math.abs(c - data[4 * (Math.round(py) * chart.width + Math.round(px)) + j]) < 60);
      const coloured = (from, top, wide, high) => {
        let found = 0;
        for (let py = top; py < top + high; ++py) for (let px = from; px < from + wide; ++px) found += isColoured(px, py);
        return found;
      };
      return chart.data.datasets.flatMap(({ends}, k) => chart.getDatasetMeta(k).data.map((bar, i) => {
        const wide = Math.min(ctx.measureText(ends[i]).width, x.right - bar.x - 5);
        return [coloured(bar.x + 5, bar.y - 4, wide, 8), coloured(bar.x + 5, bar.y - 20, wide, 40)];
      })).reduce(([a, b], [c, d]) => [a + c, b + d]);""")
    check(crossed == 0 and beside > 1000, f"lines have {crossed} pixels in texts and {beside} beside them")


def choices(browser):
    """Another choice is another picture."""
    pixels = "return arguments[0].toDataURL()"
    for section in ("ladders", "sweeps", "pairs", "samples"):
        canvas = browser.all(f"#{section} canvas")[0]
        browser.see(canvas)
        before = browser.run(pixels, canvas)
        select = canvas.find_element("xpath", "ancestor::figure").find_elements("css selector", "select")[-1]
        browser.run("const s = arguments[0]; s.selectedIndex = s.selectedIndex === 0 ? 1 : 0;"
                    "s.dispatchEvent(new Event('change'))", select)
        check(browser.run(pixels, canvas) != before, f"{section}: the same picture for another choice")


def arrows(browser, *sections):
    """They go through the values of a chart, and say each."""
    for section in sections:
        canvas = browser.all(f"#{section} canvas")[0]
        browser.see(canvas)
        said = set()
        for _ in range(3):
            canvas.send_keys(Keys.ARROW_RIGHT)
            said.add(browser.run("return document.getElementById('live').textContent"))
        check(len(said) == 3 and "" not in said, f"{section}: arrows say {said}")


def tab(browser):
    """Reaches all that a mouse does."""
    browser.run("window.scrollTo(0, 0); document.activeElement.blur()")
    wanted = {"#theme", "canvas", "select", "summary", "#measurements th button", "input", ".skip", "#nav a"}
    for _ in range(200):
        for event in ("rawKeyDown", "keyUp"):
            browser.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {
                "type": event, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9})
        wanted -= set(browser.run("return arguments[0].filter((one) => document.activeElement.matches(one))",
                                  list(wanted)))
        if not wanted:
            break
    check(not wanted, f"the keyboard does not reach {wanted}")


def sorting(browser):
    """Heads of the table sort it, the field filters it."""
    def times():
        return browser.run("const i = [...document.querySelectorAll('#measurements th')]"
                           ".findIndex((th) => th.textContent.startsWith('variant'));"
                           "return [...document.querySelectorAll('#measurements tbody tr:not(.below)')]"
                           ".map((tr) => tr.cells[i].textContent)")
    button = next(b for b in browser.all("#measurements th button") if b.text.startswith("variant"))
    for expected, reverse in (("ascending", False), ("descending", True)):
        button.send_keys(Keys.ENTER)
        head = button.find_element("xpath", "ancestor::th")
        check(head.get_attribute("aria-sort") == expected, f"not {expected}")
        check(times() == sorted(times(), reverse=reverse), f"the rows are not {expected}")
    field = browser.all("input[type=search]")[0]
    field.send_keys("gemm naive")
    check(set(times()) == {"naive"}, f"the filter leaves {set(times())}")


def themes(browser):
    """Dark where the system is, until the button says otherwise."""
    ground = "return getComputedStyle(document.body).backgroundColor"
    browser.open("cluster", theme="dark")
    dark = browser.run(ground)
    canvas = browser.all("#ladders canvas")[0]
    browser.see(canvas)
    before = browser.run("return arguments[0].toDataURL()", canvas)
    browser.all("#theme")[0].click()
    check(browser.run(ground) != dark, "the button changes nothing")
    browser.see(canvas)
    check(browser.run("return arguments[0].toDataURL()", canvas) != before, "charts keep their colours")
    browser.run("localStorage.clear()")


def serving(browser):
    """What servers would do is drawn, for each policy of a sweep; the time of the simulation is no rate."""
    browser.open("serving")
    charts(browser, 4, "Serving", "Samples")
    titles = [title.text for title in browser.all("#serving figcaption h3")]
    check(titles == [f"{what} · chat" for what in ("Throughput", "Waiting", "KV memory", "Use over time")], f"{titles}")
    said = [canvas.get_attribute("aria-label") for canvas in browser.all("#serving canvas")]
    for i, part in enumerate(("paged, max_length 512, 862 token/s", "time to first token: 28.0 ms to 818 ms", "23.0 % used, 77.0 % wasted",
                              "paged, max_length 2048: 41.0 % in the first of 4 parts")):
        check(part in said[i], f"'{part}' is not in '{said[i]}'")
    # Two and two of the lines lie on each other: each is seen between its points, and has a point.
    browser.see(browser.all("#serving canvas")[3])
    seen, points = browser.run("""
      const {chart} = cards.find(({title}) => title.startsWith("Use over time"));
      const seen = chart.data.datasets.map(({borderColor}, k) => {
        const wanted = [1, 3, 5].map((at) => parseInt(borderColor.slice(at, at + 2), 16));
        const [from, to] = chart.getDatasetMeta(k).data;
        const top = Math.round(Math.min(from.y, to.y)) - 2, height = Math.round(Math.abs(to.y - from.y)) + 4;
        const {data} = chart.ctx.getImageData(Math.round(from.x) + 8, top, Math.round(to.x - from.x) - 16, height);
        let found = 0;
        for (let i = 0; i < data.length; i += 4) if (wanted.every((c, j) => Math.abs(c - data[i + j]) < 30)) ++found;
        return found;
      });
      return [seen, chart.data.datasets.map(({pointRadius}) => pointRadius.filter(Boolean).length)];""")
    check(min(seen) > 10, f"lines hide each other: {seen} pixels of each")
    check(points == [2, 2, 2, 2], f"points hide each other: {points} of each")
    check("take turns" in browser.all("#serving")[0].text, "nothing says why lines are dashed")
    arrows(browser, "serving")
    check(not browser.all("#ladders canvas") and "best of each" not in browser.all("#summary")[0].text, "policies by time")


def comparison(browser):
    """What changed stands on top, the ratios in their order, with the margin as a band."""
    browser.open("compare")
    card = browser.all("#summary article")[0]
    check(card.get_attribute("data-result") == "FAIL", f"the result is {card.text}")
    for count in ("1BROKEN", "2SLOWER", "1FASTER", "1SAME", "1AMBIGUOUS"):
        check(count in [tile.text.replace(" ", "") for tile in browser.all(".tiles li")], f"{count} is not in {card.text}")
    check("compiler" in browser.all("#summary")[0].text, "the environment is compared")
    check("needs a GPU" in browser.all("#all")[0].text, "the table says why")
    charts(browser, 1, "Ratios")
    arrows(browser, "ratios")

    # Nothing is cut; where a phone cuts numbers, the reasons stay in sight while it scrolls there.
    for width in (1200, 1920):
        browser.open("compare", width)
        cut = browser.run("""return [...document.querySelectorAll('.scroll')]
          .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel)""")
        check(not cut, f"{width} cuts {cut}")
    browser.open("compare", 400)
    for scrolled in (0, 1000):
        sides = browser.run("""document.querySelector('#all .scroll').scrollLeft = arguments[0];
          return [...document.querySelectorAll('#all .below p')].map((one) => one.getBoundingClientRect())
            .map(({left, right}) => [left, right])""", scrolled)
        check(sides and all(left >= 0 and 300 < right <= 400 for left, right in sides), f"reasons lie at {sides}")

    browser.open("compare-nothing")
    check(browser.all("#summary article")[0].get_attribute("data-result") == "SKIP", "nothing to compare")
    check(not browser.all("canvas"), "a chart of nothing")

    browser.open("compare-many")
    charts(browser, 1, "Ratios")
    tab(browser)
    canvas = browser.all("#ratios canvas")[0]
    browser.see(canvas)
    shown = "return cards[0].chart.data.rows.map(({ratio}) => ratio)"
    ratios = browser.run(shown)
    check(len(ratios) == 60 and ratios == sorted(ratios, reverse=True), f"the ratios are {ratios}")
    check(abs(ratios[0] - 1.05) < 1e-3 and abs(ratios[-1] - 0.95) < 1e-3, "those that changed most")
    # Between two rows there are no points, no intervals and no texts.
    ground, within, beyond = browser.run("""
      const {ctx, scales: {x, y}} = cards[0].chart;
      return [1.025, 1.005, 1.015].map((at) =>
        [...ctx.getImageData(Math.round(x.getPixelForValue(at)), Math.round(y.getPixelForValue(30.5)), 1, 1).data]);""")
    check(ground == beyond != within, f"the band of the margin: {ground}, {within}, {beyond}")
    before = browser.run("return arguments[0].toDataURL()", canvas)
    browser.run("const s = document.querySelector('#ratios select'); s.selectedIndex = 1; s.dispatchEvent(new Event('change'))")
    check(len(browser.run(shown)) == 500, "all ratios")
    check(browser.run("return arguments[0].toDataURL()", canvas) != before, "the same picture of all ratios")

    browser.open("compare-hostile")
    browser.see(browser.all("canvas")[0])
    check(not browser.all("img") and "onerror" in browser.driver.title, "a text became an element")
    check("<img src=x" in browser.all("#all")[0].text, "a text is not shown as it is")


def seconds(browser):
    """The page of 64 ranks and 500 cases is quick to open."""
    took = []
    for _ in range(3):
        browser.open("cluster")
        took.append(browser.run("return performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000)
    check(min(took) < 2, f"64 ranks and 500 cases open in {took} s")
    print(f"64 ranks and 500 cases: {(browser.folder / 'cluster.html').stat().st_size / 1e6:.1f} MB, {min(took):.2f} s")


def pages(browser):
    folder = browser.folder
    browser.open("cluster")
    thinned = browser.all("#thinned")[0].text
    found = [one.text for one in browser.all("#summary .findings li li")]
    check(any(re.match(r"\d+ × the slowest rank takes [\d.]+ to [\d.]+ x the median of the others", one)
              for one in found), f"what is not to be trusted is {found}")
    check("samples are thinned" in thinned, f"nothing is said of samples left out: '{thinned}'")
    charts(browser, 8, "Variants", "Sweeps", "Roofline", "Overlap", "Links", "Samples", "Clocks and power", "Placement",
           "Environment", "How to reproduce")
    choices(browser)
    tab(browser)
    arrows(browser, "ladders", "sweeps", "roofline", "pairs")
    sorting(browser)
    themes(browser)
    serving(browser)
    comparison(browser)

    best(browser)
    vendor(browser)
    transports(browser)
    chosen(browser)
    swept(browser)
    intervals(browser)
    ladder(browser)
    timeline(browser)
    saved(browser)
    cache(browser)

    browser.open("sample")
    why = browser.all("#summary [data-result=FAIL] [data-reason]")
    check(len(why) == 1 and "square kokkos" in why[0].text, f"the run failed by {[one.text for one in why]}")

    browser.open("hostile")
    for canvas in browser.all("canvas"):
        browser.see(canvas)
    check(not browser.all("img") and "onerror" in browser.driver.title, "a text became an element")
    check("<img src=x" in browser.all("#all")[0].text, "a text is not shown as it is")

    structure(browser, "cluster", "pair", "traced", "scaling", "serving", "compare", "compare-many", "compare-hostile")
    browser.open("scaling")
    check("fit" in browser.all("#scaling")[0].text, "no fits")
    printed = browser.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    (folder / "scaling.pdf").write_bytes(base64.b64decode(printed["data"]))
    fetched = browser.run("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    check(not fetched, f"the page fetched {fetched}")
    errors = browser.errors()
    check(not errors, f"the console says {errors}")


def main():
    if webdriver is None or not CHROMIUM or not DRIVER:
        print("skipped: no Chromium with its driver and Selenium; jobs/setup.sh --tests installs them")
        return 77
    what, folder, *programs = sys.argv[1:]
    folder = pathlib.Path(folder).resolve()
    folder.mkdir(exist_ok=True)
    for program in programs:
        subprocess.run([program, "--gtest_filter=*Page*"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "QUADRILLE_PAGES": str(folder)})
    browser = Browser(folder)
    try:
        (seconds if what == "seconds" else pages)(browser)
    finally:
        browser.driver.quit()
    return 0


if __name__ == "__main__":
    sys.exit(main())
