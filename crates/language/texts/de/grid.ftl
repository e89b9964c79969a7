grid-compare-settings = Einstellungen vergleichen…
grid-make-a-sheet-of = Einen Bogen von Bildern erzeugen, die sich entlang von Achsen unterscheiden (X/Y/Z plot, grid).
grid-put-on-x-axis = Auf die X-Achse
grid-columns-of-a-sheet = Spalten eines Bogens, die sich in dieser Einstellung unterscheiden.
grid-put-on-y-axis = Auf die Y-Achse
grid-rows-of-a-sheet = Zeilen eines Bogens, die sich in dieser Einstellung unterscheiden.
grid-put-on-z-axis = Auf die Z-Achse
grid-pages-of-a-sheet = Seiten eines Bogens, die sich in dieser Einstellung unterscheiden.
grid-edit-the-axes = Achsen bearbeiten
grid-change-what-differs = Ändern, was sich unterscheidet.
grid-leave-out = Auslassen
grid-leave-out-this-cell = Diese Zelle auslassen oder wieder aufnehmen.
grid-drafts-first = Zuerst Entwürfe
grid-make-drafts-of-all = Entwürfe aller Zellen erzeugen, bevor eine fertiggestellt wird, um Zellen früh zu streichen. Fertiggestellt wird ab dem Schritt, an dem der Entwurf anhielt.
grid-generate-sheet = Bogen erzeugen
grid-add-the-cells-to = Die Zellen in die Warteschlange stellen, in der Reihenfolge mit dem geringsten Aufwand.
grid-make-no-sheet = Keinen Bogen erzeugen.
grid-show-the-sheet = Bogen zeigen
grid-show-the-sheet-that = Den zuletzt erzeugten Bogen zeigen, auch einen von vor einem Neustart (X/Y/Z plot, grid).
grid-close-the-sheet-its = Den Bogen schließen. Seine Bilder bleiben erhalten.
grid-use-these-settings = Einstellungen nutzen
grid-make-the-settings-of = Die Einstellungen dieser Zelle zu den aktuellen machen.
grid-strike-out = Streichen
grid-do-not-finish-this = Diese Zelle nicht fertigstellen.
grid-export-sheet = Bogen exportieren…
grid-save-the-sheet-as = Den Bogen als eine PNG-Datei mit Beschriftung speichern.
grid-write-at-least-one = Mindestens eine Achse angeben.
grid-every-cell-is-left = Alle Zellen sind ausgelassen.
grid-no-sheet-was-made = Es wurde noch kein Bogen erzeugt.
grid-no-cell-of-the = Noch keine Zelle des Bogens ist fertig.
grid-this-cell-is-finished = Diese Zelle ist fertig.
grid-its-job-is-no = Der Auftrag ist nicht mehr in der Warteschlange. Die Einstellungen lassen sich über das Bild in der Galerie laden.
grid-use-a-cells-settings = Einstellungen einer Zelle nutzen
grid-the-settings-of-this = Die Einstellungen dieser Zelle sind übernommen.
grid-export-sheet-as = Bogen exportieren als
grid-no-model-is-called = kein Modell heißt „{ $name }“; einen Namen aus der Bibliothek verwenden
grid-no-lora-is-called = kein LoRA heißt „{ $name }“; einen Namen aus der Bibliothek verwenden
grid-drafts-first-2 = , zuerst Entwürfe
grid-a-sheet-of-pictures =
    { $cells ->
        [one] Ein Bogen mit { $cells } Bild ist in der Warteschlange{ $first }.
       *[other] Ein Bogen mit { $cells } Bildern ist in der Warteschlange{ $first }.
    }
grid-the-last-sheet-could = Der letzte Bogen konnte nicht gelesen werden: { $reason }.
grid-the-sheet-could-not = Der Bogen konnte nicht gesichert werden: { $reason }. Atelier versucht es alle { $retry_secs } Sekunden erneut.
grid-the-sheet-is-saved = Der Bogen ist gespeichert: { $path }
grid-choose-another-folder = Einen anderen Ordner wählen.
grid-compare-settings-2 = Einstellungen vergleichen
grid-compare-settings-3 = Einstellungen vergleichen
grid-columns-rows-and-pages = Spalten, Zeilen und Seiten: eine Einstellung und ihre Werte, etwa steps=4,8,16, cfg=1..7/4, size=512x512,768x512, lora:ink=0.5,1, words=lake,hill, oder eine Auswahl des Prompts: {"{"}day|night{"}"}.
grid-what-differs-and-its = Was sich unterscheidet, und die Werte.
grid-cells-without-a-mark = Zellen ohne Häkchen werden nicht erzeugt.
grid-as-drafts = {" "}· { $drafts ->
        [one] { $drafts } als Entwurf
       *[other] { $drafts } als Entwürfe
    }
grid-of-pictures =
    { $cells ->
        [one] { $pictures } von { $cells } Bild{ $drafts }
       *[other] { $pictures } von { $cells } Bildern{ $drafts }
    }
grid-sheet = Bogen
grid-left-out = ausgelassen
grid-struck-out = gestrichen
grid-x-axis = X-Achse
grid-y-axis = Y-Achse
grid-z-axis = Z-Achse
grid-generating = entsteht
grid-failed = fehlgeschlagen
grid-held = zurückgestellt
grid-draft = Entwurf
grid-waiting = wartet
grid-a-sheet-begins-with = Ein Bogen beginnt mit einem Startbild. Zuerst die anderen entfernen.
